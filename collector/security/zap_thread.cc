#include "collector/security/zap_thread.h"

#include <algorithm>
#include <array>
#include <span>
#include <system_error>
#include <utility>
#include <vector>

#include <pthread.h>
#include <spdlog/spdlog.h>

#include "collector/clock.h"

namespace sideband::collector {
namespace {

constexpr const char* kEndpoint = "inproc://zeromq.zap.01";

// The parts of a request.
enum Part : std::size_t { kVersion, kRequestId, kDomain, kAddress, kIdentity, kMechanism, kCredential };

Message copy_of(std::string_view text) {
  return Message::copy_of(std::as_bytes(std::span(text)));
}

}  // namespace

Result<void> ZapThread::start(const Context& context, const Access& access) {
  socket_ = Socket(context, SocketKind::kRep, 0);
  if (auto bound = socket_.bind(kEndpoint); !bound) return tl::unexpected(bound.error());
  try {
    thread_ = std::jthread([this, &access] { run(access); });
  } catch (const std::system_error& error) {
    return fail(ErrorCode::kUnavailable, std::string("the thread that checks keys cannot start: ") + error.what() +
                                             "; look at the limit of processes (ulimit -u)");
  }
  pthread_setname_np(thread_.native_handle(), "sideband-zap");
  return {};
}

void ZapThread::stop() {
  stopping_.store(true, std::memory_order_release);
  wake_up_.wake();
  if (thread_.joinable()) thread_.join();
}

void ZapThread::run(const Access& access) {
  while (!stopping_.load(std::memory_order_acquire)) {
    wait_readable(socket_, wake_up_.fd());
    answer(access);
  }
  socket_.close();
}

void ZapThread::answer(const Access& access) {
  std::vector<Message> parts(1);
  for (bool more_parts = false; socket_.receive(parts.back(), more_parts);) {
    if (more_parts) {
      parts.emplace_back();
      continue;
    }
    parts.resize(std::max<std::size_t>(parts.size(), kCredential + 1));
    const Decision decision = access.decide({.domain = parts[kDomain].text(),
                                             .address = parts[kAddress].text(),
                                             .mechanism = parts[kMechanism].text(),
                                             .credential = parts[kCredential].text()});
    if (!decision.allowed) note_denied(decision.reason, parts[kAddress].text());
    std::array<Message, 6> reply{copy_of("1.0"),
                                 std::move(parts[kRequestId]),
                                 copy_of(decision.allowed ? "200" : "400"),
                                 copy_of(decision.allowed ? "OK" : "not authorized"),
                                 copy_of(decision.user),
                                 copy_of("")};
    for (std::size_t i = 0; i < reply.size(); ++i) (void)socket_.send(reply[i], i + 1 < reply.size());
    parts = std::vector<Message>(1);
  }
}

void ZapThread::note_denied(const std::string& reason, std::string_view address) {
  denied_.add();
  if (const auto count = denied_limit_.note(read_clocks().steady_ms))
    spdlog::warn("{} connection(s) not let in: {}; `sideband keygen` makes a key that may; from {}", *count, reason,
                 address);
}

}  // namespace sideband::collector
