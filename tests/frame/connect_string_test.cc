#include "frame/connect_string.h"

#include <gtest/gtest.h>

namespace sideband {
namespace {

const std::string kServerKey(64, 'a');
const std::string kSecret = "00112233445566778899AABBCCDDEEFF00112233445566778899aabbccddeeff";
const std::string kLine = "tcp://host:5123?server_key=" + kServerKey + "&key=" + kSecret;

std::string error_of(const std::string& text) {
  const auto parsed = parse_connect_string(text);
  return parsed ? "no error" : parsed.error().message;
}

class ConnectStringError : public testing::TestWithParam<std::pair<std::string, std::string>> {};

TEST_P(ConnectStringError, SaysWhatIsWrong) {
  EXPECT_NE(error_of(GetParam().first).find(": " + GetParam().second + ":"), std::string::npos)
      << error_of(GetParam().first);
}

INSTANTIATE_TEST_SUITE_P(
    Texts, ConnectStringError,
    testing::Values(std::pair{"", "neither tcp:// nor ipc://"}, std::pair{"host:5123", "neither tcp:// nor ipc://"},
                    std::pair{"tcp://host", "a port is from 1 to 65535"},
                    std::pair{"tcp://host:70000", "a port is from 1 to 65535"},
                    std::pair{"tcp://host:0", "a port is from 1 to 65535"},
                    std::pair{"tcp://:5123", "the host is missing"}, std::pair{"ipc://", "the path is missing"},
                    std::pair{"ipc:///run/a?key=1", "an ipc:// address takes no keys"},
                    std::pair{"ipc://" + std::string(108, 'x'), "the path has 108 bytes, a socket's at most 107"},
                    std::pair{"tcp://host:1?token=5", "unknown parameter \"token\""},
                    std::pair{"tcp://host:1?key=" + kSecret, "server_key is missing"},
                    std::pair{"tcp://host:1?server_key=" + kServerKey, "key is missing, `sideband keygen` makes one"},
                    std::pair{"tcp://host:1?server_key=abc", "server_key has 3 characters, not 64 hexadecimal digits"},
                    std::pair{kLine + "'", "key has 65 characters, not 64 hexadecimal digits"},
                    std::pair{kLine + "&key=" + kSecret, "key stands there twice"}));

TEST(ConnectString, LineWithKeysIsReadBack) {
  const auto parsed = parse_connect_string(kLine);
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(format_key(parsed->keys->client_secret),
            "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff");
}

TEST(ConnectString, AddressStandsWithoutTheKeys) {
  EXPECT_EQ(parse_connect_string(kLine)->endpoint, "tcp://host:5123");
}

TEST(ConnectString, FormattedLineIsTheOneThatWasRead) {
  const std::string line = "tcp://[::1]:5123?server_key=" + kServerKey + "&key=" + std::string(64, '0');
  EXPECT_EQ(format_connect_string(*parse_connect_string(line)), line);
}

TEST(ConnectString, PlainAddressHasNoKeys) {
  EXPECT_FALSE(parse_connect_string("tcp://host:5123")->keys);
}

TEST(ConnectString, IpcPathIsTakenAsItIs) {
  EXPECT_EQ(parse_connect_string("ipc:///run/sideband/control")->endpoint, "ipc:///run/sideband/control");
}

TEST(ConnectString, ErrorHidesTheSecret) {
  EXPECT_EQ(error_of("tcp://host:1?key=" + kSecret).find(kSecret.substr(0, 8)), std::string::npos);
}

TEST(HideKeys, ValuesOfKeysAreHidden) {
  EXPECT_EQ(hide_keys(kLine), "tcp://host:5123?server_key=***&key=***");
}

TEST(HideKeys, ShortenedKeyIsHidden) {
  EXPECT_EQ(hide_keys("tcp://h:1?key=12ab&server_key=3"), "tcp://h:1?key=***&server_key=***");
}

TEST(HideKeys, BareKeyIsHidden) {
  EXPECT_EQ(hide_keys("secret " + kSecret + "!"), "secret ***!");
}

TEST(HideKeys, AddressStays) {
  EXPECT_EQ(hide_keys("tcp://10.0.0.1:5123"), "tcp://10.0.0.1:5123");
}

}  // namespace
}  // namespace sideband
