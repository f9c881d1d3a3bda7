#include "tools/canvas.h"

#include <gtest/gtest.h>

namespace sideband::tools {
namespace {

TEST(Canvas, EachDotOfACellHasItsOwnBit) {
  Canvas canvas(4, 1);
  canvas.set_dot(0, 0);
  canvas.set_dot(2, 3);
  canvas.set_dot(5, 0);
  canvas.set_dot(7, 3);
  EXPECT_EQ(canvas.row_text(0), "⠁⡀⠈⢀");
}

TEST(Canvas, LineReachesBothEnds) {
  Canvas canvas(2, 1);
  canvas.draw_line(0, 0, 3, 3);
  EXPECT_EQ(canvas.row_text(0), "⠑⢄");
}

TEST(Canvas, LineOfOnePointIsADot) {
  Canvas canvas(1, 1);
  canvas.draw_line(1, 2, 1, 2);
  EXPECT_EQ(canvas.row_text(0), "⠠");
}

TEST(Canvas, DotsStandBeforeTheShade) {
  Canvas canvas(2, 1);
  canvas.shade(0, 0);
  canvas.shade(1, 0);
  canvas.set_dot(0, 0);
  EXPECT_EQ(canvas.row_text(0), "⠁░");
}

TEST(Canvas, RowEndsAtItsLastMark) {
  Canvas canvas(9, 2);
  canvas.shade(1, 0);
  EXPECT_EQ(canvas.row_text(0), " ░");
  EXPECT_EQ(canvas.row_text(1), "");
}

}  // namespace
}  // namespace sideband::tools
