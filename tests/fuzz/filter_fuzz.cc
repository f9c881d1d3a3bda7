// Any text as a filter: it is refused with a caret below one of its characters, or it is a filter that can be asked.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "collector/query/filter.h"
#include "tests/fuzz/script.h"

namespace {

using namespace sideband;

collector::RunSummary make_run() {
  collector::RunSummary run;
  run.id = "run-1";
  run.facts.name = "exp";
  run.facts.config["lr"].set_double_value(0.1);
  run.facts.config["n"].set_int_value(3);
  run.facts.tags["arch"] = "resnet50";
  run.started_wall_ns = 1;
  return run;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const collector::RunSummary run = make_run();
  const auto filter = collector::Filter::parse({reinterpret_cast<const char*>(data), size});
  if (!filter) {
    fuzz::require(size > collector::kMaxFilterBytes || filter.error().message.ends_with("^"));
    return 0;
  }
  const collector::FilterContext context{
      .now_wall_ns = 2, .user = "ada", .find_metric = [](const collector::RunSummary&, const std::string&) {
        return collector::MetricStats{};
      }};
  (void)filter->matches(run, context);
  return 0;
}
