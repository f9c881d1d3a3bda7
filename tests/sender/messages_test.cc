#include "sender/messages.h"

#include <gtest/gtest.h>

#include "proto/sideband.pb.h"
#include "tests/sender/random_messages.h"

namespace sideband::sender {
namespace {

constexpr int kTurns = 300;

TEST_F(MessagesTest, SynHasTheBytesOfProtoc) {
  for (int turn = 0; turn < kTurns; ++turn) {
    const Syn syn{small_number(),  small_number(),  number(), id(),
                  number(),        number(),        number(), number(),
                  number(),        text(),          text(),   text(),
                  signed_number(), signed_number(), text(),   coin() ? std::optional(id()) : std::nullopt,
                  number(),        coin()};
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
    expected.set_follows(syn.follows);
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
    const Pong pong{number(),        number(), signed_number(), signed_number(),
                    signed_number(), number(), number(),        coin() ? credit() : Credit()};
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
    const ErrorReport error{
        static_cast<std::uint32_t>(random_() % 13), text(), coin(), small_number(), number(), number()};
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
    End end{number() | 1,
            number() | 1,
            static_cast<std::uint32_t>(random_() % 5),
            {},
            {},
            text(),
            {signed_number(), signed_number()},
            number(),
            {{LossReason::kQuota, number() | 1}}};
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
    ack.set_program(text());
    const auto found = decode_ack(as_bytes(ack.SerializeAsString())).value();
    ASSERT_TRUE(found.version == ack.version() && found.syn_nonce == ack.syn_nonce() && found.token == ack.token() &&
                id_text(found.store_id) == ack.store_id() && found.resume_seq == ack.resume_seq() &&
                found.data_endpoint == ack.data_endpoint() && found.heartbeat_ms == ack.heartbeat_ms() &&
                found.max_payload_bytes == ack.max_payload_bytes() && found.wall_ns == ack.wall_ns() &&
                found.program == ack.program());
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
    ASSERT_TRUE(found.token == commit.token() && found.seq == commit.seq() &&
                id_text(found.store_id) == commit.store_id());
    ASSERT_TRUE(found.credit.credit_bytes == granted.credit_bytes && alone.token == granted.token &&
                alone.credit_seq == granted.credit_seq);
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

}  // namespace
}  // namespace sideband::sender
