// The topic of a run on the tap: docs/protocol.md section 8. Pure.
#pragma once

#include <string>
#include <string_view>

namespace sideband::collector {

// "project/run_id/" with every byte other than A-Z a-z 0-9 . _ - of both names as %XX, cut at 245 bytes: ZeroMQ
// before 4.3.5 garbles subscriptions that are longer.
[[nodiscard]] std::string make_tap_topic(std::string_view project, std::string_view run_id);
// What the topics of all runs of a project begin with: to subscribe to.
[[nodiscard]] std::string make_tap_prefix(std::string_view project);

}  // namespace sideband::collector
