#include <map>

#include <fmt/core.h>
#include <unistd.h>
#include <zmq.hpp>

#include "collector/query/seq_ledger.h"
#include "collector/tap_topic.h"
#include "sender/uplink_socket.h"
#include "tools/command.h"
#include "tools/dump_sources.h"

namespace sideband::tools {
namespace {

constexpr int kReceiveTimeoutMs = 100;  // how soon a signal or a reader that left is noticed

constexpr int kMinCutOffs = 2;  // one may be a collector that stops

// Set: the collector will never let us in.
std::optional<std::string> find_denial(sender::WatchedSocket& watched, int& cut_offs) {
  const auto news = sender::take_news(watched);
  if (news.succeeded) cut_offs = 0;
  if (!news.failure) return std::nullopt;
  switch (*news.failure) {
    case sender::LinkFailure::kKeyRefused:
      return "the collector does not let this key in: expected one of its keys/authorized with the role read or both";
    case sender::LinkFailure::kOtherSecurity:
      return "one side uses keys, the other does not; take the whole SIDEBAND_TAP line that the collector prints";
    case sender::LinkFailure::kCutOff:
      if (++cut_offs < kMinCutOffs) return std::nullopt;
      return "the collector ends the handshake: it asks for keys, or its server_key is another one; take the whole "
             "SIDEBAND_TAP line that it prints";
  }
  return std::nullopt;
}

// False: nothing came for a while, or a signal did.
bool receive(zmq::socket_t& socket, std::vector<zmq::message_t>& parts) {
  parts.clear();
  try {
    do {
      zmq::message_t part;
      if (!socket.recv(part)) return false;
      parts.push_back(std::move(part));
    } while (parts.back().more());
  } catch (const zmq::error_t& error) {
    if (error.num() == EINTR) return false;
    throw;
  }
  return true;
}

// Takes tap messages apart and drops what was seen before.
class TapReader {
 public:
  explicit TapReader(DumpPrinter& printer) : printer_(printer) {}

  void add(const std::vector<zmq::message_t>& parts) {
    if (parts.size() != 2) {
      add_damage(parts.back().size(),
                 fmt::format("bad tap message: expected a topic and a frame, found {} parts", parts.size()));
      return;
    }
    const frame::Bytes bytes(parts[1].data<std::byte>(), parts[1].size());
    const auto frame = frame::decode_frame(bytes);
    if (!frame) {
      add_damage(bytes.size(), frame.error().message);
      return;
    }
    if (is_new(*frame)) printer_.add_frame(offset_, *frame);
    offset_ += bytes.size();
  }

 private:
  bool is_new(const frame::Frame& frame) {
    if (!frame::is_sequenced(frame.header.type)) return true;
    const auto id = frame::decode_stream_seq(frame.payload);
    return !id || seen_[id->stream_id].add(id->seq).is_new;
  }

  void add_damage(std::size_t bytes, const std::string& reason) {
    printer_.add_damage({offset_, bytes, reason});
    offset_ += bytes;
  }

  DumpPrinter& printer_;
  std::map<std::uint64_t, collector::SeqLedger> seen_;
  std::uint64_t offset_ = 0;  // bytes of frames received before this one
};

}  // namespace

Result<void> dump_tap(const std::string& connect, const std::string& project, DumpPrinter& printer, Output& out) {
  const std::string endpoint = drop_keys(connect);
  try {
    zmq::context_t context;
    auto tap = sender::connect_tap(context, connect, project.empty() ? "" : collector::make_tap_prefix(project));
    if (!tap) return tl::unexpected(tap.error());
    tap->socket.set(zmq::sockopt::rcvtimeo, kReceiveTimeoutMs);
    if (::isatty(STDERR_FILENO) == 1) print_error("listening, Ctrl-C stops: " + endpoint);
    printer.set_input(endpoint);
    TapReader reader(printer);
    std::vector<zmq::message_t> parts;
    int cut_offs = 0;
    while (!printer.done() && !stop_requested()) {
      if (receive(tap->socket, parts)) {
        reader.add(parts);
        continue;
      }
      out.flush();
      if (const auto denial = find_denial(*tap, cut_offs))
        return fail(ErrorCode::kInvalidArgument, *denial + ": " + endpoint);
    }
  } catch (const zmq::error_t& error) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("connect to the tap failed: {}; expected an address like tcp://127.0.0.1:5126: {}",
                            error.what(), endpoint));
  }
  return {};
}

}  // namespace sideband::tools
