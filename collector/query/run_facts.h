// How CONFIG and the updates in LOG change what a stream says of its run.
#pragma once

#include "collector/query/run_summary.h"

namespace sideband::collector {

void apply_config(const v1::Config& config, RunFacts& facts);
// run_updates, config_updates and summary_updates, in this order.
void apply_updates(const v1::Log& log, RunFacts& facts);
// What `later` says replaces what `facts` says; what it leaves out stays.
void overlay(const RunFacts& later, RunFacts& facts);

}  // namespace sideband::collector
