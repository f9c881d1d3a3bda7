#include "tools/reach.h"

#include <cerrno>
#include <cstring>
#include <future>
#include <memory>
#include <thread>

#include <arpa/inet.h>
#include <fmt/core.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "frame/frame_file.h"

namespace sideband::tools {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::string_view kTcp = "tcp://";
constexpr std::string_view kIpc = "ipc://";

struct SocketAddress {
  sockaddr_storage bytes{};
  socklen_t size = 0;
};

struct HostPort {
  std::string host, port;
  int family = AF_INET;  // a sender takes IPv6 only where it is written out, in brackets
};

HostPort split_host_port(std::string_view endpoint) {
  endpoint.remove_prefix(kTcp.size());
  const std::size_t colon = endpoint.rfind(':');
  HostPort parts{std::string(endpoint.substr(0, colon)), std::string(endpoint.substr(colon + 1))};
  if (parts.host.size() > 2 && parts.host.front() == '[' && parts.host.back() == ']') {
    parts.host = parts.host.substr(1, parts.host.size() - 2);
    parts.family = AF_INET6;
  }
  return parts;
}

struct Lookup {
  int error = 0;
  std::vector<SocketAddress> addresses;
};

Lookup look_up(const HostPort& parts) {
  addrinfo hints{};
  hints.ai_family = parts.family;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  Lookup lookup;
  lookup.error = ::getaddrinfo(parts.host.c_str(), parts.port.c_str(), &hints, &found);
  if (lookup.error != 0) return lookup;
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(found, ::freeaddrinfo);
  for (const addrinfo* entry = found; entry != nullptr; entry = entry->ai_next) {
    SocketAddress address;
    std::memcpy(&address.bytes, entry->ai_addr, entry->ai_addrlen);
    address.size = entry->ai_addrlen;
    lookup.addresses.push_back(address);
  }
  return lookup;
}

// getaddrinfo() cannot be called off: past the deadline its thread is left to end with the process.
Result<std::vector<SocketAddress>> look_up_tcp(const std::string& endpoint, milliseconds deadline) {
  const HostPort parts = split_host_port(endpoint);
  std::packaged_task<Lookup()> task([parts] { return look_up(parts); });
  auto answer = task.get_future();
  std::thread(std::move(task)).detach();
  if (answer.wait_for(deadline) != std::future_status::ready) {
    return fail(ErrorCode::kUnavailable,
                fmt::format("no name server told the address of {} within {} ms", parts.host, deadline.count()));
  }
  Lookup lookup = answer.get();
  if (lookup.error != 0) {
    return fail(ErrorCode::kNotFound,
                fmt::format("the name {} has no address: {}", parts.host, ::gai_strerror(lookup.error)));
  }
  return std::move(lookup.addresses);
}

Result<std::vector<SocketAddress>> look_up_any(const std::string& endpoint, milliseconds deadline) {
  if (!endpoint.starts_with(kIpc)) return look_up_tcp(endpoint, deadline);
  const std::string path = endpoint.substr(kIpc.size());
  sockaddr_un local{};
  local.sun_family = AF_UNIX;
  if (path.size() >= sizeof local.sun_path)
    return fail(ErrorCode::kInvalidArgument, "the path of a local socket is too long: " + path);
  std::memcpy(local.sun_path, path.data(), path.size());
  SocketAddress address;
  std::memcpy(&address.bytes, &local, sizeof local);
  address.size = sizeof local;
  return std::vector{address};
}

std::string to_text(const SocketAddress& address) {
  char text[INET6_ADDRSTRLEN] = "";
  if (address.bytes.ss_family == AF_INET) {
    sockaddr_in v4{};
    std::memcpy(&v4, &address.bytes, sizeof v4);
    ::inet_ntop(AF_INET, &v4.sin_addr, text, sizeof text);
  } else {
    sockaddr_in6 v6{};
    std::memcpy(&v6, &address.bytes, sizeof v6);
    ::inet_ntop(AF_INET6, &v6.sin6_addr, text, sizeof text);
  }
  return text;
}

// 0, or errno.
int connect_one(const SocketAddress& address, steady_clock::time_point until) {
  const frame::FileDescriptor socket(::socket(address.bytes.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket) return errno;
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address.bytes), address.size) == 0) return 0;
  if (errno != EINPROGRESS) return errno;
  pollfd ready{.fd = socket.get(), .events = POLLOUT, .revents = 0};
  for (;;) {
    const auto left = std::chrono::duration_cast<milliseconds>(until - steady_clock::now()).count();
    const int count = ::poll(&ready, 1, left > 0 ? static_cast<int>(left) : 0);
    if (count > 0) break;
    if (count == 0) return ETIMEDOUT;
    if (errno != EINTR) return errno;
  }
  int error = 0;
  socklen_t size = sizeof error;
  return ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size) == 0 ? error : errno;
}

std::string explain(int error, milliseconds deadline) {
  switch (error) {
    case ECONNREFUSED:
      return "the host answers, but nobody listens at this port";
    case ENOENT:
      return "there is no such local socket";
    case ETIMEDOUT:
      return fmt::format("no answer within {} ms: the host is away, or a firewall swallows the packets",
                         deadline.count());
    case EHOSTUNREACH:
    case ENETUNREACH:
      return "no way leads to this host";
    default:
      return std::strerror(error);
  }
}

}  // namespace

Result<std::vector<std::string>> resolve(const std::string& endpoint, milliseconds deadline) {
  if (endpoint.starts_with(kIpc)) return std::vector{endpoint.substr(kIpc.size())};
  const auto addresses = look_up_tcp(endpoint, deadline);
  if (!addresses) return tl::unexpected(addresses.error());
  std::vector<std::string> texts;
  for (const auto& address : *addresses) texts.push_back(to_text(address));
  return texts;
}

Result<void> reach(const std::string& endpoint, milliseconds deadline) {
  const auto until = steady_clock::now() + deadline;
  const auto addresses = look_up_any(endpoint, deadline);
  if (!addresses) return tl::unexpected(addresses.error());
  int error = EHOSTUNREACH;
  for (const auto& address : *addresses) {
    error = connect_one(address, until);
    if (error == 0) return {};
  }
  return fail(ErrorCode::kUnavailable, explain(error, deadline) + ": " + endpoint);
}

}  // namespace sideband::tools
