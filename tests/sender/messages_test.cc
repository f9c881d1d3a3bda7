#include "sender/messages.h"

#include <bit>
#include <random>

#include <gtest/gtest.h>

#include "proto/sideband.pb.h"
#include "sender/utf8.h"
#include "sender/value_encoding.h"

namespace sideband::sender {
namespace {

frame::Bytes as_bytes(const std::string& payload) { return std::as_bytes(std::span(payload)); }

std::string id_text(const SpoolId& id) { return {reinterpret_cast<const char*>(id.data()), id.size()}; }

// Numbers of every length as a varint, zero included: a field that is left out is a case of its own.
class MessagesTest : public testing::Test {
 protected:
  std::uint64_t number() { return random_() % 8 == 0 ? 0 : random_() >> (random_() % 64); }
  std::int64_t signed_number() { return static_cast<std::int64_t>(coin() ? number() : ~number()); }
  std::uint32_t small_number() { return static_cast<std::uint32_t>(number()); }
  bool coin() { return random_() % 2 == 0; }
  std::string text() { return std::string(random_() % 200, 'a') + (coin() ? "\u00E9" : ""); }
  SpoolId id() {
    SpoolId bytes;
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random_());
    return bytes;
  }
  Credit credit() { return {number() | 1, number(), number()}; }
  static void set(v1::Credit* out, const Credit& from) {
    out->set_token(from.token);
    out->set_credit_seq(from.credit_seq);
    out->set_credit_bytes(from.credit_bytes);
  }
  Value value() {
    switch (random_() % 6) {
      case 0: return std::monostate();
      case 1: return coin();
      case 2: return signed_number();
      case 3: return std::bit_cast<double>(number());
      case 4: return text();
      default: return Json{"[1]"};
    }
  }
  static void set(v1::Value* out, const Value& from) {
    if (std::holds_alternative<std::monostate>(from)) out->set_null_value(true);
    if (const auto* held = std::get_if<bool>(&from)) out->set_bool_value(*held);
    if (const auto* held = std::get_if<std::int64_t>(&from)) out->set_int_value(*held);
    if (const auto* held = std::get_if<double>(&from)) out->set_double_value(*held);
    if (const auto* held = std::get_if<std::string>(&from)) out->set_text_value(*held);
    if (const auto* held = std::get_if<Json>(&from)) out->set_json_value(held->text);
  }
  StreamInfo stream_info() {
    StreamInfo info;
    info.spool_id = id();
    info.project = text();
    info.run_id = text();
    info.run_name = text();
    info.user = text();
    info.rank = small_number();
    info.world_size = small_number() | 1;
    info.local_rank = small_number();
    info.host = text();
    info.pid = number();
    info.attempt = small_number();
    info.parent_attempt = small_number();
    if (coin()) info.resume_step = signed_number();
    for (std::uint64_t i = random_() % 5; i > 0; --i) info.config.emplace_back(text(), value());
    for (std::uint64_t i = random_() % 5; i > 0; --i) info.tags.emplace_back(text(), text());
    info.group = text();
    info.notes = text();
    for (std::uint64_t i = random_() % 5; i > 0; --i) info.environment.emplace_back(text(), text());
    info.opened = {signed_number(), signed_number()};
    info.library = text();
    return info;
  }
  static v1::Config to_proto(std::uint64_t stream_id, std::uint64_t seq, const StreamInfo& info) {
    v1::Config config;
    config.set_stream_id(stream_id);
    config.set_seq(seq);
    config.set_spool_id(id_text(info.spool_id));
    config.set_project(info.project);
    config.set_run_id(info.run_id);
    config.set_run_name(info.run_name);
    config.set_user(info.user);
    config.set_rank(info.rank);
    config.set_world_size(info.world_size);
    config.set_local_rank(info.local_rank);
    config.set_host(info.host);
    config.set_pid(info.pid);
    config.set_attempt(info.attempt);
    config.set_parent_attempt(info.parent_attempt);
    if (info.resume_step) config.set_resume_step(*info.resume_step);
    for (const auto& [path, entry] : info.config) {
      auto* out = config.add_config();
      out->set_path(path);
      set(out->mutable_value(), entry);
    }
    const auto add_tag = [](v1::Tag* tag, const auto& pair) {
      tag->set_key(pair.first);
      tag->set_value(pair.second);
    };
    for (const auto& pair : info.tags) add_tag(config.add_tags(), pair);
    config.set_group(info.group);
    config.set_notes(info.notes);
    for (const auto& pair : info.environment) add_tag(config.add_environment(), pair);
    config.mutable_opened()->set_monotonic_ns(info.opened.monotonic_ns);
    config.mutable_opened()->set_wall_ns(info.opened.wall_ns);
    config.set_library(info.library);
    return config;
  }

  std::mt19937_64 random_{42};
};

constexpr int kTurns = 300;

TEST_F(MessagesTest, SynHasTheBytesOfProtoc) {
  for (int turn = 0; turn < kTurns; ++turn) {
    const Syn syn{small_number(), small_number(), number(), id(), number(), number(), number(), number(), number(), text(), text(),
                  text(), signed_number(), signed_number(), text(), coin() ? std::optional(id()) : std::nullopt, number()};
    v1::Syn expected;
    expected.set_min_version(syn.min_version);
    expected.set_max_version(syn.max_version);
    expected.set_stream_id(syn.stream_id);
    expected.set_spool_id(id_text(syn.spool_id));
    expected.set_open_count(syn.open_count);
    expected.set_open_nonce(syn.open_nonce);
    expected.set_head_seq(syn.head_seq);
    expected.set_oldest_seq(syn.oldest_seq);
    expected.set_syn_nonce(syn.syn_nonce);
    expected.set_run_id(syn.run_id);
    expected.set_project(syn.project);
    expected.set_user(syn.user);
    expected.set_wall_ns(syn.wall_ns);
    expected.set_monotonic_ns(syn.monotonic_ns);
    expected.set_library(syn.library);
    if (syn.last_store_id) expected.set_last_store_id(id_text(*syn.last_store_id));
    expected.set_last_commit_seq(syn.last_commit_seq);
    ASSERT_EQ(encode(syn), expected.SerializeAsString());
  }
}

TEST_F(MessagesTest, PingHasTheBytesOfProtocAndComesBack) {
  for (int turn = 0; turn < kTurns; ++turn) {
    const Ping ping{number(), number(), signed_number(), number(), number(), signed_number(), signed_number()};
    v1::Ping expected;
    expected.set_token(ping.token);
    expected.set_ping_id(ping.ping_id);
    expected.set_sent_wall_ns(ping.sent_wall_ns);
    expected.set_head_seq(ping.head_seq);
    expected.set_sent_seq(ping.sent_seq);
    expected.set_clock_offset_ns(ping.clock_offset_ns);
    expected.set_clock_delay_ns(ping.clock_delay_ns);
    ASSERT_EQ(encode(ping), expected.SerializeAsString());
    ASSERT_EQ(encode(decode_ping(as_bytes(encode(ping))).value()), encode(ping));
  }
}

TEST_F(MessagesTest, PongHasTheBytesOfProtocAndComesBack) {
  for (int turn = 0; turn < kTurns; ++turn) {
    const Pong pong{number(), number(), signed_number(), signed_number(), signed_number(), number(), number(), coin() ? credit() : Credit()};
    v1::Pong expected;
    expected.set_token(pong.token);
    expected.set_ping_id(pong.ping_id);
    expected.set_ping_sent_wall_ns(pong.ping_sent_wall_ns);
    expected.set_received_wall_ns(pong.received_wall_ns);
    expected.set_sent_wall_ns(pong.sent_wall_ns);
    expected.set_expected_seq(pong.expected_seq);
    expected.set_durable_seq(pong.durable_seq);
    if (pong.credit.token != 0) set(expected.mutable_credit(), pong.credit);
    ASSERT_EQ(encode(pong), expected.SerializeAsString());
    ASSERT_EQ(encode(decode_pong(as_bytes(encode(pong))).value()), encode(pong));
  }
}

TEST_F(MessagesTest, FinHasTheBytesOfProtoc) {
  const Fin fin{7, 300};
  v1::Fin expected;
  expected.set_token(fin.token);
  expected.set_final_seq(fin.final_seq);
  EXPECT_EQ(encode(fin), expected.SerializeAsString());
}

TEST_F(MessagesTest, ByeHasTheBytesOfProtocAndComesBack) {
  for (int turn = 0; turn < kTurns; ++turn) {
    const Bye bye{number(), static_cast<std::uint32_t>(random_() % 4), small_number()};
    v1::Bye expected;
    expected.set_token(bye.token);
    expected.set_reason(static_cast<v1::Bye::Reason>(bye.reason));
    expected.set_retry_after_ms(bye.retry_after_ms);
    ASSERT_EQ(encode(bye), expected.SerializeAsString());
    ASSERT_EQ(encode(decode_bye(as_bytes(encode(bye))).value()), encode(bye));
  }
}

TEST_F(MessagesTest, ErrorHasTheBytesOfProtocAndComesBack) {
  for (int turn = 0; turn < kTurns; ++turn) {
    const ErrorReport error{static_cast<std::uint32_t>(random_() % 13), text(), coin(), small_number(), number(), number()};
    v1::ErrorReport expected;
    expected.set_code(static_cast<v1::ErrorReport::Code>(error.code));
    expected.set_text(error.text);
    expected.set_fatal(error.fatal);
    expected.set_retry_after_ms(error.retry_after_ms);
    expected.set_token(error.token);
    expected.set_syn_nonce(error.syn_nonce);
    ASSERT_EQ(encode(error), expected.SerializeAsString());
    ASSERT_EQ(encode(decode_error(as_bytes(encode(error))).value()), encode(error));
  }
}

TEST_F(MessagesTest, SkipHasTheBytesOfProtoc) {
  for (int turn = 0; turn < kTurns; ++turn) {
    const Skip skip{number() | 1, number() | 1, number(), static_cast<LossReason>(random_() % 9), text()};
    v1::Skip expected;
    expected.set_stream_id(skip.stream_id);
    expected.set_seq(skip.seq);
    expected.set_to_seq(skip.to_seq);
    expected.set_reason(static_cast<v1::LossReason>(skip.reason));
    expected.set_text(skip.text);
    ASSERT_EQ(encode(skip), expected.SerializeAsString());
  }
}

TEST_F(MessagesTest, EndHasTheBytesOfProtoc) {
  for (int turn = 0; turn < kTurns; ++turn) {
    End end{number() | 1, number() | 1, static_cast<std::uint32_t>(random_() % 5), {}, {}, text(), {signed_number(), signed_number()},
            number(), {{LossReason::kQuota, number() | 1}}};
    if (coin()) end.exit_signal = small_number();
    if (coin()) end.exit_code = static_cast<std::int32_t>(signed_number());
    v1::End expected;
    expected.set_stream_id(end.stream_id);
    expected.set_seq(end.seq);
    expected.set_status(static_cast<v1::End::Status>(end.status));
    if (end.exit_signal) expected.set_exit_signal(*end.exit_signal);
    if (end.exit_code) expected.set_exit_code(*end.exit_code);
    expected.set_reason(end.reason);
    expected.mutable_ended()->set_monotonic_ns(end.ended.monotonic_ns);
    expected.mutable_ended()->set_wall_ns(end.ended.wall_ns);
    expected.set_points_total(end.points_total);
    auto* drop = expected.add_drops();
    drop->set_reason(v1::LOSS_REASON_QUOTA);
    drop->set_points(end.drops[0].second);
    ASSERT_EQ(encode(end), expected.SerializeAsString());
  }
}

TEST_F(MessagesTest, SpoolFileHasTheBytesOfProtocAndComesBack) {
  for (int turn = 0; turn < kTurns; ++turn) {
    const SpoolFile file{small_number(), text(), signed_number(), text(), id(), number(), number()};
    v1::File expected;
    expected.set_format_version(1);
    expected.set_kind(v1::File::KIND_SPOOL);
    expected.set_segment(file.segment);
    expected.set_run_id(file.run_id);
    expected.set_created_wall_ns(file.created_wall_ns);
    expected.set_program(file.program);
    expected.set_spool_id(id_text(file.spool_id));
    expected.set_stream_id(file.stream_id);
    expected.set_first_seq(file.first_seq);
    ASSERT_EQ(encode(file), expected.SerializeAsString());
    ASSERT_EQ(encode(decode_spool_file(as_bytes(encode(file))).value()), encode(file));
  }
}

TEST_F(MessagesTest, AckOfProtocIsRead) {
  for (int turn = 0; turn < kTurns; ++turn) {
    v1::Ack ack;
    ack.set_version(small_number());
    ack.add_features("later");
    ack.set_syn_nonce(number());
    ack.set_token(number());
    ack.set_store_id(id_text(id()));
    ack.set_resume_seq(number());
    ack.set_data_endpoint(text());
    ack.set_heartbeat_ms(small_number());
    ack.set_max_payload_bytes(small_number());
    ack.set_wall_ns(signed_number());
    const auto found = decode_ack(as_bytes(ack.SerializeAsString())).value();
    ASSERT_TRUE(found.version == ack.version() && found.syn_nonce == ack.syn_nonce() && found.token == ack.token() &&
                id_text(found.store_id) == ack.store_id() && found.resume_seq == ack.resume_seq() &&
                found.data_endpoint == ack.data_endpoint() && found.heartbeat_ms == ack.heartbeat_ms() &&
                found.max_payload_bytes == ack.max_payload_bytes() && found.wall_ns == ack.wall_ns());
  }
}

TEST_F(MessagesTest, CreditAndCommitOfProtocAreRead) {
  for (int turn = 0; turn < kTurns; ++turn) {
    const Credit granted = credit();
    v1::Commit commit;
    commit.set_token(number());
    commit.set_seq(number());
    commit.set_store_id(id_text(id()));
    set(commit.mutable_credit(), granted);
    const auto found = decode_commit(as_bytes(commit.SerializeAsString())).value();
    const auto alone = decode_credit(as_bytes(commit.credit().SerializeAsString())).value();
    ASSERT_TRUE(found.token == commit.token() && found.seq == commit.seq() && id_text(found.store_id) == commit.store_id());
    ASSERT_TRUE(found.credit.credit_bytes == granted.credit_bytes && alone.token == granted.token && alone.credit_seq == granted.credit_seq);
  }
}

TEST_F(MessagesTest, ConfigHasTheBytesOfProtocAndComesBack) {
  for (int turn = 0; turn < kTurns; ++turn) {
    const StreamInfo info = stream_info();
    std::size_t next = 0;
    const std::string payload = encode_config(5, 6, info, &next);
    ASSERT_EQ(payload, to_proto(5, 6, info).SerializeAsString());
    ASSERT_EQ(encode_config(5, 6, decode_config(as_bytes(payload)).value(), &next), payload);
  }
}

TEST_F(MessagesTest, ConfigThatDoesNotFitGoesOnInUpdates) {
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

TEST_F(MessagesTest, ConfigFitsWhateverTheUserGives) {
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

TEST_F(MessagesTest, UpdatesGetThroughEveryEntry) {
  StreamInfo info;
  for (int i = 0; i < 5; ++i) info.config.emplace_back(std::string(500'000, '\xFF'), Json{std::string(500'000, '\xFF')});
  std::size_t next = 0;
  for (std::size_t before = 0; next < info.config.size(); before = next) {
    static_cast<void>(encode_config_updates(1, 2, 1, 0, info, &next));
    ASSERT_GT(next, before);
  }
}

TEST_F(MessagesTest, TextIsRepairedToUtf8) {
  StreamInfo info;
  info.config.emplace_back("a\xFF", std::string("b\xFF"));
  info.notes = "c\xFF";
  std::size_t next = 0;
  const auto found = decode_config(as_bytes(encode_config(1, 1, info, &next))).value();
  EXPECT_TRUE(found.config[0].first == "a\uFFFD" && std::get<std::string>(found.config[0].second) == "b\uFFFD" && found.notes == "c\uFFFD");
}

TEST_F(MessagesTest, JsonOverTheLimitBecomesText) {
  v1::ConfigEntry entry;
  ASSERT_TRUE(entry.ParseFromString(encode_config_entry("a", Json{std::string(kMaxValueBytes + 1, '1')})));
  EXPECT_EQ(entry.value().text_value().size(), kMaxValueBytes);
}

TEST_F(MessagesTest, CutMessageIsReported) {
  const std::string payload = encode(Ping{7, 8, 9, 10, 11, 12, 13});
  const auto ping = decode_ping(as_bytes(payload.substr(0, payload.size() - 1)));
  ASSERT_FALSE(ping);
  EXPECT_EQ(ping.error().code, ErrorCode::kCorrupt);
}

TEST_F(MessagesTest, IdOfTheWrongLengthIsReported) {
  v1::Ack ack;
  ack.set_store_id("short");
  EXPECT_EQ(decode_ack(as_bytes(ack.SerializeAsString())).error().code, ErrorCode::kCorrupt);
}

TEST_F(MessagesTest, FieldOfAnotherWireTypeIsSkipped) {
  const std::string payload = "\x1A\x01x";  // field 3 as bytes, where ACK expects fixed64
  EXPECT_EQ(decode_ack(as_bytes(payload)).value().syn_nonce, 0U);
}

TEST_F(MessagesTest, RandomBytesNeverCrashADecoder) {
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

TEST_F(MessagesTest, FrameHoldsThePayload) {
  const std::string frame = make_frame(frame::MessageType::kFin, "abc");
  const auto decoded = frame::decode_frame(as_bytes(frame)).value();
  EXPECT_TRUE(decoded.is(frame::MessageType::kFin) && decoded.payload.size() == 3);
}

}  // namespace
}  // namespace sideband::sender
