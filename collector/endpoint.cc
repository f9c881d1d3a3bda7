#include "collector/endpoint.h"

#include <charconv>
#include <cstdint>

#include <fmt/format.h>

namespace sideband::collector {
namespace {

constexpr std::string_view kTcp = "tcp://";

bool is_port(std::string_view text) {
  std::uint16_t port = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  return text == "*" || (error == std::errc() && stop == text.data() + text.size());
}

}  // namespace

bool is_wildcard(std::string_view endpoint) {
  if (!endpoint.starts_with(kTcp)) return false;
  const std::string_view address = endpoint.substr(kTcp.size());
  const std::string_view host = address.substr(0, address.rfind(':'));
  return host == "*" || host == "0.0.0.0" || host == "[::]" || host == "::";
}

Result<void> check_endpoint(std::string_view endpoint, std::string_view flag) {
  const std::size_t colon = endpoint.rfind(':');
  if (endpoint.starts_with(kTcp) && colon > kTcp.size() && is_port(endpoint.substr(colon + 1))) return {};
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("{}: expected tcp://<address>:<port from 0 to 65535>, found: {}", flag, endpoint));
}

Result<std::string> choose_announced(const std::string& bound, const std::string& advertised, std::string_view flag) {
  if (!advertised.empty()) {
    if (auto checked = check_endpoint(advertised, flag); !checked) return tl::unexpected(checked.error());
  }
  const std::string& announced = advertised.empty() ? bound : advertised;
  if (is_wildcard(announced)) {
    return fail(
        ErrorCode::kInvalidArgument,
        fmt::format(
            "senders cannot connect to a wildcard address; pass {} tcp://<name or address that they reach>:<port>: {}",
            flag, announced));
  }
  return announced;
}

}  // namespace sideband::collector
