// What makes two worlds equal.
#include <map>
#include <span>

#include <fmt/format.h>

#include "proto/sideband.pb.h"
#include "tests/faults/session_world.h"

namespace sideband::faults {
namespace {

frame::Frame decode(const std::string& bytes) {
  return *frame::decode_frame(std::as_bytes(std::span(bytes)));
}

template <typename T>
T parse(const frame::Frame& frame) {
  T message;
  (void)message.ParseFromArray(frame.payload.data(), static_cast<int>(frame.payload.size()));
  return message;
}

// Numbers in the order in which they are met.
class Names {
 public:
  std::size_t operator()(std::uint64_t number) {
    return number == 0 ? 0 : names_.try_emplace(number, names_.size() + 1).first->second;
  }

 private:
  std::map<std::uint64_t, std::size_t> names_;
};

std::string describe(const std::string& bytes, Names& tokens, Names& nonces) {
  const frame::Frame frame = decode(bytes);
  switch (static_cast<frame::MessageType>(frame.header.type)) {
    case frame::MessageType::kSyn: {
      const auto syn = parse<v1::Syn>(frame);
      return fmt::format("S{}.{}.{}", nonces(syn.syn_nonce()), syn.open_count(), syn.head_seq());
    }
    case frame::MessageType::kAck: {
      const auto ack = parse<v1::Ack>(frame);
      return fmt::format("A{}.{}.{}", nonces(ack.syn_nonce()), tokens(ack.token()), ack.resume_seq());
    }
    case frame::MessageType::kPing:
      return fmt::format("I{}.{}", tokens(parse<v1::Ping>(frame).token()), parse<v1::Ping>(frame).sent_seq());
    case frame::MessageType::kPong: {
      const auto pong = parse<v1::Pong>(frame);
      return fmt::format("O{}.{}.{}.{}", tokens(pong.token()), pong.expected_seq(), pong.durable_seq(),
                         pong.credit().credit_seq() != 0);
    }
    case frame::MessageType::kCredit:
      return fmt::format("C{}", tokens(parse<v1::Credit>(frame).token()));
    case frame::MessageType::kCommit:
      return fmt::format("M{}.{}", tokens(parse<v1::Commit>(frame).token()), parse<v1::Commit>(frame).seq());
    case frame::MessageType::kFin:
      return fmt::format("F{}", tokens(parse<v1::Fin>(frame).token()));
    case frame::MessageType::kBye:
      return fmt::format("B{}.{}", tokens(parse<v1::Bye>(frame).token()),
                         static_cast<int>(parse<v1::Bye>(frame).reason()));
    case frame::MessageType::kError: {
      const auto error = parse<v1::ErrorReport>(frame);
      return fmt::format("E{}.{}.{}", static_cast<int>(error.code()), tokens(error.token()), nonces(error.syn_nonce()));
    }
    default:
      return fmt::format("T{}", frame.header.type);
  }
}

}  // namespace

std::string World::key() const {
  Names tokens, nonces;
  std::string key =
      fmt::format("{} {} {} {} {}|{}{}{} {} {}|", static_cast<int>(session_.state()), tokens(session_.token()), cursor_,
                  session_.committed_seq(), openings_, connecting_, connected_, subscribing_, spooled_, trimmed_);
  key += fmt::format("{} {} {} {}|{} {}|", stored_.size(), durable_, tokens(disk_token_),
                     stored_.empty() ? 0 : stored_.back(), quiet_passes_sender_, quiet_passes_collector_);
  const std::string peer = fmt::format("dealer-{}", dealer_);
  for (const std::uint64_t token : tokens_) {
    const collector::Session* session = table_.find(token);
    if (session == nullptr) continue;
    key += fmt::format("{}:{} {} {} {} {} {} {}|", tokens(token), static_cast<int>(session->state),
                       nonces(session->syn_nonce), session->expected_seq, session->durable_seq, session->received_seq,
                       session->final_seq.value_or(0), session->peer == peer);
  }
  for (const auto& message : control_)
    key += (message.peer == peer ? " " : " old ") + describe(message.bytes, tokens, nonces);
  key += '|';
  for (const auto& message : answers_) key += ' ' + describe(message.bytes, tokens, nonces);
  key += '|';
  for (const auto& data : data_) key += fmt::format(" {}.{}", tokens(data.token), data.seq);
  key += '|';
  for (const auto& data : late_data_) key += fmt::format(" {}.{}", tokens(data.token), data.seq);
  return key;
}

}  // namespace sideband::faults
