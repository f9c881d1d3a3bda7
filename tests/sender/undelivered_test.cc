#include "sender/undelivered.h"

#include <string>

#include <gtest/gtest.h>

namespace sideband::sender {
namespace {

TEST(Undelivered, NamesTheCommand) {
  EXPECT_EQ(undelivered_text({3, "no collector answered", "/spool/ab", "tcp://host:5123"}),
            "not delivered: 3 frame(s): no collector answered; send them later with: sideband sync '/spool/ab' --to "
            "'tcp://host:5123'");
}

TEST(Undelivered, ReasonMayBeUnknown) {
  EXPECT_NE(undelivered_text({3, "", "/spool/ab", "tcp://host:5123"}).find("3 frame(s); send"), std::string::npos);
}

TEST(Undelivered, KeysAreNotSaid) {
  const std::string said = undelivered_text({3, "", "/spool/ab", "tcp://host:5123?server_key=open&key=sesame"});
  EXPECT_TRUE(said.find("sesame") == std::string::npos && said.ends_with("--to \"$SIDEBAND_COLLECTOR\"")) << said;
}

TEST(ShellWord, QuoteIsEscaped) {
  EXPECT_EQ(quote_for_shell("it's"), "'it'\\''s'");
}

}  // namespace
}  // namespace sideband::sender
