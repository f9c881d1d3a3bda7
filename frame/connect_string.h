// The one line that a collector prints and a sender or a reader is given: an address, and keys.
//
//   tcp://HOST:PORT?server_key=<64 hex digits>&key=<64 hex digits>     encrypted, both sides known by their keys
//   tcp://HOST:PORT                                                    a collector without keys (--insecure)
//   ipc:///PATH                                                        a collector of the same user on this host
//
// Hex digits need no quoting in a shell, YAML or a URL. Pure; any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "frame/result.h"

namespace sideband {

inline constexpr std::size_t kKeyBytes = 32;          // CURVE's, public and secret
inline constexpr std::size_t kMaxIpcPathBytes = 107;  // of sockaddr_un, without its end
using CurveKey = std::array<std::uint8_t, kKeyBytes>;

struct ConnectKeys {
  CurveKey server_public{};
  CurveKey client_secret{};
};

struct ConnectString {
  std::string endpoint;             // "tcp://HOST:PORT" or "ipc://PATH", as ZeroMQ takes it
  std::optional<ConnectKeys> keys;  // unset: no encryption
};

// kInvalidArgument: what was expected and found, without the secret.
[[nodiscard]] Result<ConnectString> parse_connect_string(std::string_view text);
[[nodiscard]] std::string format_connect_string(const ConnectString& connect);

// Any text that may hold keys, for logs and errors: "***" in place of what follows "key=" and of long hex numbers.
[[nodiscard]] std::string hide_keys(std::string_view text);
// Only the address, for logs and for commands that people copy.
[[nodiscard]] std::string drop_keys(std::string_view text);

// 64 digits, any case.
[[nodiscard]] std::optional<CurveKey> parse_key(std::string_view hex);
[[nodiscard]] std::string format_key(const CurveKey& key);

}  // namespace sideband
