#include "frame/codec.h"

#include <gtest/gtest.h>

namespace sideband::frame {
namespace {

TEST(FrameCodec, EmptyBytesAreATruncatedHeader) { EXPECT_FALSE(decode_header({})); }

}  // namespace
}  // namespace sideband::frame
