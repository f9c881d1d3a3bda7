#include <array>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <xxhash.h>

#include "sender/launch.h"

namespace sideband::sender {
namespace {

constexpr std::array kAdjectives = {
    "amber",  "ample",  "brave",  "brisk",  "bright", "calm",    "clear", "crisp", "deep",  "eager", "early",  "fair",
    "fleet",  "fond",   "fresh",  "gentle", "glad",   "grand",   "hardy", "keen",  "kind",  "light", "lively", "lucid",
    "mellow", "merry",  "mild",   "neat",   "noble",  "patient", "plain", "proud", "quick", "quiet", "rapid",  "ready",
    "sharp",  "silver", "smooth", "solid",  "steady", "still",   "sunny", "swift", "tidy",  "vivid", "warm",   "wise",
};
constexpr std::array kNouns = {
    "alder",  "badger", "beacon",  "birch",  "brook",   "canyon", "cedar",   "cliff", "comet",  "coral",
    "crane",  "delta",  "dune",    "ember",  "falcon",  "fern",   "finch",   "fjord", "forest", "glade",
    "harbor", "heron",  "ibis",    "island", "juniper", "lagoon", "lark",    "lynx",  "maple",  "marten",
    "meadow", "mesa",   "otter",   "pebble", "pine",    "plover", "prairie", "raven", "reef",   "ridge",
    "river",  "robin",  "sparrow", "spruce", "summit",  "tern",   "willow",  "wren",
};

}  // namespace

std::string readable_name(std::string_view run_id) {
  const XXH64_hash_t hash = XXH3_64bits(run_id.data(), run_id.size());
  return fmt::format("{}-{}-{:04x}", kAdjectives[hash % kAdjectives.size()], kNouns[(hash >> 16) % kNouns.size()],
                     hash >> 48);
}

}  // namespace sideband::sender
