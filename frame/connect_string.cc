#include "frame/connect_string.h"

#include <algorithm>
#include <charconv>

namespace sideband {
namespace {

constexpr std::string_view kTcp = "tcp://";
constexpr std::string_view kIpc = "ipc://";
constexpr std::string_view kKeyEnd = "key=";
constexpr std::string_view kHidden = "***";
constexpr std::size_t kHexDigits = 2 * kKeyBytes;
constexpr std::size_t kLongHexDigits = 32;

bool is_hex(char letter) {
  return (letter >= '0' && letter <= '9') || (letter >= 'a' && letter <= 'f') || (letter >= 'A' && letter <= 'F');
}

std::size_t count_hex(std::string_view text) {
  std::size_t count = 0;
  while (count < text.size() && is_hex(text[count])) ++count;
  return count;
}

tl::unexpected<Error> fail_parse(const std::string& reason, std::string_view text) {
  return fail(ErrorCode::kInvalidArgument,
              "collector's address: " + reason +
                  ": expected tcp://HOST:PORT?server_key=…&key=… as `sideband collect` prints it, tcp://HOST:PORT or "
                  "ipc://PATH, found \"" +
                  hide_keys(text) + "\"");
}

// What is wrong with an address; empty: nothing. ZeroMQ takes port 70000 for 4464.
std::string check_address(std::string_view address) {
  if (address.starts_with(kIpc)) {
    const std::size_t path_bytes = address.size() - kIpc.size();
    if (path_bytes == 0) return "the path is missing";
    if (path_bytes > kMaxIpcPathBytes)
      return "the path has " + std::to_string(path_bytes) + " bytes, a socket's at most " +
             std::to_string(kMaxIpcPathBytes);
    return {};
  }
  if (!address.starts_with(kTcp)) return "neither tcp:// nor ipc://";
  const std::size_t colon = address.rfind(':');
  if (colon < kTcp.size()) return "a port is from 1 to 65535";
  if (colon == kTcp.size()) return "the host is missing";
  const std::string_view port_text = address.substr(colon + 1);
  std::uint16_t port = 0;
  const auto [stop, error] = std::from_chars(port_text.data(), port_text.data() + port_text.size(), port);
  if (error != std::errc() || stop != port_text.data() + port_text.size() || port == 0)
    return "a port is from 1 to 65535";
  return {};
}

struct Parameters {
  std::optional<CurveKey> server_key, key;
};

// "server_key=…&key=…". What is wrong; empty: nothing.
std::string parse_parameters(std::string_view text, Parameters& parameters) {
  while (!text.empty()) {
    const std::string_view item = text.substr(0, text.find('&'));
    text.remove_prefix(item.size() == text.size() ? item.size() : item.size() + 1);
    const std::size_t equals = item.find('=');
    const std::string_view name = item.substr(0, equals);
    const std::string_view value = equals == std::string_view::npos ? std::string_view() : item.substr(equals + 1);
    if (name != "server_key" && name != "key")
      return "unknown parameter \"" + hide_keys(name.substr(0, kLongHexDigits)) + "\"";
    auto& target = name == "key" ? parameters.key : parameters.server_key;
    if (target) return std::string(name) + " stands there twice";
    target = parse_key(value);
    if (!target)
      return std::string(name) + " has " + std::to_string(value.size()) + " characters, not 64 hexadecimal digits";
  }
  return {};
}

}  // namespace

std::optional<CurveKey> parse_key(std::string_view hex) {
  if (hex.size() != kHexDigits || count_hex(hex) != kHexDigits) return std::nullopt;
  CurveKey key{};
  for (std::size_t i = 0; i < key.size(); ++i) std::from_chars(&hex[2 * i], &hex[2 * i] + 2, key[i], 16);
  return key;
}

std::string format_key(const CurveKey& key) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const std::uint8_t byte : key) {
    text += kDigits[byte >> 4U];
    text += kDigits[byte & 0xFU];
  }
  return text;
}

Result<ConnectString> parse_connect_string(std::string_view text) {
  const std::string_view address = text.substr(0, text.find('?'));
  if (const std::string reason = check_address(address); !reason.empty()) return fail_parse(reason, text);
  ConnectString connect{.endpoint = std::string(address), .keys = {}};
  if (address.size() == text.size()) return connect;
  if (address.starts_with(kIpc)) return fail_parse("an ipc:// address takes no keys", text);
  Parameters parameters;
  if (const std::string reason = parse_parameters(text.substr(address.size() + 1), parameters); !reason.empty())
    return fail_parse(reason, text);
  if (!parameters.server_key) return fail_parse("server_key is missing", text);
  if (!parameters.key) return fail_parse("key is missing, `sideband keygen` makes one", text);
  connect.keys = ConnectKeys{.server_public = *parameters.server_key, .client_secret = *parameters.key};
  return connect;
}

std::string format_connect_string(const ConnectString& connect) {
  if (!connect.keys) return connect.endpoint;
  return connect.endpoint + "?server_key=" + format_key(connect.keys->server_public) +
         "&key=" + format_key(connect.keys->client_secret);
}

std::string hide_keys(std::string_view text) {
  std::string shown;
  while (!text.empty()) {
    const std::size_t digits = count_hex(text);
    const bool after_key = shown.ends_with(kKeyEnd);
    if (digits >= kLongHexDigits) {
      shown += kHidden;
      text.remove_prefix(digits);
    } else if (after_key && text.front() != '&') {
      shown += kHidden;
      text.remove_prefix(std::min(text.find('&'), text.size()));
    } else {
      const std::size_t plain = std::max<std::size_t>(digits, 1);
      shown += text.substr(0, plain);
      text.remove_prefix(plain);
    }
  }
  return shown;
}

std::string drop_keys(std::string_view text) {
  return hide_keys(text.substr(0, text.find('?')));
}

}  // namespace sideband
