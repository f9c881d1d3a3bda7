#include "tools/table.h"

#include <gtest/gtest.h>

namespace sideband::tools {
namespace {

using enum Table::Align;

TEST(Table, ColumnsAreAsWideAsTheirWidestCell) {
  Table table({{"A", kLeft}, {"B", kRight}});
  table.add({"long", "1"});
  table.add({"x", "1000"});
  EXPECT_EQ(table.text(),
            "A        B\n"
            "long     1\n"
            "x     1000\n");
}

TEST(Table, CodePointsAreCountedNotBytes) {
  Table table({{"A", kLeft}, {"B", kLeft}});
  table.add({"äö", "x"});
  EXPECT_EQ(table.text(),
            "A   B\n"
            "äö  x\n");
}

TEST(Table, ForeignTextCannotMoveTheCursor) {
  Table table({{"A", kLeft}});
  table.add({"\x1b[31m"});
  EXPECT_EQ(table.text(), "A\n\\x1b[31m\n");
}

}  // namespace
}  // namespace sideband::tools
