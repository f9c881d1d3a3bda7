// Messages at their limits: too much to say, and bytes that are no message.
#include <gtest/gtest.h>

#include "sender/utf8.h"
#include "sender/value_encoding.h"
#include "tests/sender/random_messages.h"

namespace sideband::sender {
namespace {

using MessagesLimitsTest = MessagesTest;

TEST_F(MessagesLimitsTest, ConfigThatDoesNotFitGoesOnInUpdates) {
  StreamInfo info;
  for (int i = 0; i < 1'000; ++i) info.config.emplace_back("path" + std::to_string(i), std::string(1'000, 'x'));
  std::size_t next = 0;
  const std::string payload = encode_config(1, 1, info, &next);
  ASSERT_LE(payload.size(), frame::kMaxPayloadBytes);
  v1::Config config;
  ASSERT_TRUE(config.ParseFromString(payload));
  std::size_t found = static_cast<std::size_t>(config.config_size());
  for (std::uint64_t seq = 2; next < info.config.size(); ++seq) {
    const std::string update = encode_config_updates(1, seq, 1, 0, info, &next);
    ASSERT_LE(update.size(), frame::kMaxPayloadBytes);
    v1::Log log;
    ASSERT_TRUE(log.ParseFromString(update));
    found += static_cast<std::size_t>(log.config_updates_size());
  }
  EXPECT_EQ(found, info.config.size());
}

TEST_F(MessagesLimitsTest, ConfigFitsWhateverTheUserGives) {
  StreamInfo info;
  const std::string bad(500'000, '\xFF');
  info.project = info.run_name = info.group = info.notes = info.host = bad;
  for (int i = 0; i < 20; ++i) {
    info.config.emplace_back(bad, bad);
    info.tags.emplace_back(bad, bad);
    info.environment.emplace_back(bad, bad);
  }
  std::size_t next = 0;
  EXPECT_LE(encode_config(1, 1, info, &next).size(), frame::kMaxPayloadBytes);
}

TEST_F(MessagesLimitsTest, UpdatesGetThroughEveryEntry) {
  StreamInfo info;
  for (int i = 0; i < 5; ++i)
    info.config.emplace_back(std::string(500'000, '\xFF'), Json{std::string(500'000, '\xFF')});
  std::size_t next = 0;
  for (std::size_t before = 0; next < info.config.size(); before = next) {
    static_cast<void>(encode_config_updates(1, 2, 1, 0, info, &next));
    ASSERT_GT(next, before);
  }
}

TEST_F(MessagesLimitsTest, TextIsRepairedToUtf8) {
  StreamInfo info;
  info.config.emplace_back("a\xFF", std::string("b\xFF"));
  info.notes = "c\xFF";
  std::size_t next = 0;
  const auto found = decode_config(as_bytes(encode_config(1, 1, info, &next))).value();
  EXPECT_TRUE(found.config[0].first == "a\uFFFD" && std::get<std::string>(found.config[0].second) == "b\uFFFD" &&
              found.notes == "c\uFFFD");
}

TEST_F(MessagesLimitsTest, JsonOverTheLimitBecomesText) {
  v1::ConfigEntry entry;
  ASSERT_TRUE(entry.ParseFromString(encode_config_entry("a", Json{std::string(kMaxValueBytes + 1, '1')})));
  EXPECT_EQ(entry.value().text_value().size(), kMaxValueBytes);
}

TEST_F(MessagesLimitsTest, CutMessageIsReported) {
  const std::string payload = encode(Ping{7, 8, 9, 10, 11, 12, 13});
  const auto ping = decode_ping(as_bytes(payload.substr(0, payload.size() - 1)));
  ASSERT_FALSE(ping);
  EXPECT_EQ(ping.error().code, ErrorCode::kCorrupt);
}

TEST_F(MessagesLimitsTest, IdOfTheWrongLengthIsReported) {
  v1::Ack ack;
  ack.set_store_id("short");
  EXPECT_EQ(decode_ack(as_bytes(ack.SerializeAsString())).error().code, ErrorCode::kCorrupt);
}

TEST_F(MessagesLimitsTest, FieldOfAnotherWireTypeIsSkipped) {
  const std::string payload = "\x1A\x01x";  // field 3 as bytes, where ACK expects fixed64
  EXPECT_EQ(decode_ack(as_bytes(payload)).value().syn_nonce, 0U);
}

TEST_F(MessagesLimitsTest, RandomBytesNeverCrashADecoder) {
  for (int turn = 0; turn < 20'000; ++turn) {
    std::string payload(random_() % 60, '\0');
    for (char& byte : payload) byte = static_cast<char>(random_());
    static_cast<void>(decode_ack(as_bytes(payload)));
    static_cast<void>(decode_ping(as_bytes(payload)));
    static_cast<void>(decode_pong(as_bytes(payload)));
    static_cast<void>(decode_commit(as_bytes(payload)));
    static_cast<void>(decode_bye(as_bytes(payload)));
    static_cast<void>(decode_error(as_bytes(payload)));
    static_cast<void>(decode_spool_file(as_bytes(payload)));
    static_cast<void>(decode_config(as_bytes(payload)));
  }
}

TEST_F(MessagesLimitsTest, FrameHoldsThePayload) {
  const std::string frame = make_frame(frame::MessageType::kFin, "abc");
  const auto decoded = frame::decode_frame(as_bytes(frame)).value();
  EXPECT_TRUE(decoded.is(frame::MessageType::kFin) && decoded.payload.size() == 3);
}

}  // namespace
}  // namespace sideband::sender
