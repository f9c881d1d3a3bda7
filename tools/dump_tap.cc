#include <map>

#include <fmt/core.h>
#include <unistd.h>
#include <zmq.hpp>

#include "collector/query/seq_ledger.h"
#include "collector/tap_topic.h"
#include "tools/command.h"
#include "tools/dump_sources.h"

namespace sideband::tools {
namespace {

constexpr int kReceiveTimeoutMs = 100;  // how soon a signal or a reader that left is noticed

zmq::socket_t connect(zmq::context_t& context, const std::string& endpoint, const std::string& project) {
  zmq::socket_t socket(context, zmq::socket_type::sub);
  socket.set(zmq::sockopt::linger, 0);
  socket.set(zmq::sockopt::rcvtimeo, kReceiveTimeoutMs);
  socket.set(zmq::sockopt::subscribe, project.empty() ? "" : collector::make_tap_prefix(project));
  socket.connect(endpoint);
  return socket;
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

Result<void> dump_tap(const std::string& endpoint, const std::string& project, DumpPrinter& printer, Output& out) {
  try {
    zmq::context_t context;
    zmq::socket_t socket = connect(context, endpoint, project);
    if (::isatty(STDERR_FILENO) == 1) print_error("listening, Ctrl-C stops: " + endpoint);
    printer.set_input(endpoint);
    TapReader reader(printer);
    std::vector<zmq::message_t> parts;
    while (!printer.done() && !stop_requested()) {
      if (receive(socket, parts)) {
        reader.add(parts);
      } else {
        out.flush();
      }
    }
  } catch (const zmq::error_t& error) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("connect to the tap failed: {}; expected an address like tcp://127.0.0.1:5126: {}",
                            error.what(), endpoint));
  }
  return {};
}

}  // namespace sideband::tools
