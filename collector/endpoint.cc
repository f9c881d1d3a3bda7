#include "collector/endpoint.h"

#include <fmt/format.h>

namespace sideband::collector {

bool is_wildcard(std::string_view endpoint) {
  constexpr std::string_view kTcp = "tcp://";
  if (!endpoint.starts_with(kTcp)) return false;
  const std::string_view address = endpoint.substr(kTcp.size());
  const std::string_view host = address.substr(0, address.rfind(':'));
  return host == "*" || host == "0.0.0.0" || host == "[::]" || host == "::";
}

Result<std::string> choose_announced(const std::string& bound, const std::string& advertised, std::string_view flag) {
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
