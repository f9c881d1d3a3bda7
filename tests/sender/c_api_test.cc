#include <gtest/gtest.h>

#include "tests/sender/c_api_user.h"
#include "tests/sender/temporary_folder.h"

namespace sideband::sender {
namespace {

class CApiTest : public testing::Test {
 protected:
  const char* spool() const { return folder_.path().c_str(); }

  TemporaryFolder folder_;
};

// 0, or the line of c_api_user.c that saw something wrong.
TEST_F(CApiTest, EverythingCanBeLoggedFromC) {
  EXPECT_EQ(log_everything(spool()), 0);
}
TEST_F(CApiTest, ErrorTextIsCutToItsBuffer) {
  EXPECT_EQ(read_the_error_of_a_wrong_option(spool()), 0);
}
TEST_F(CApiTest, NullHandlesAreNoOps) {
  EXPECT_EQ(use_null_handles(), 0);
}
TEST_F(CApiTest, ShorterOptionsAreReadAsFarAsTheyGo) {
  EXPECT_EQ(open_with_a_shorter_struct(spool()), 0);
}

}  // namespace
}  // namespace sideband::sender
