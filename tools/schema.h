// proto/sideband.proto as it was when this program was built.
#pragma once

#include <string_view>

namespace sideband::tools {

[[nodiscard]] std::string_view schema_text();

}  // namespace sideband::tools
