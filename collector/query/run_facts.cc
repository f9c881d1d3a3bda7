#include "collector/query/run_facts.h"

namespace sideband::collector {
namespace {

// null_value stands for "delete" in an update.
void update_value(const std::string& key, const v1::Value& value, std::map<std::string, v1::Value>& values) {
  if (value.kind_case() == v1::Value::kNullValue) {
    values.erase(key);
  } else {
    values[key] = value;
  }
}

void overlay_text(const std::string& later, std::string& text) {
  if (!later.empty()) text = later;
}

}  // namespace

void apply_config(const v1::Config& config, RunFacts& facts) {
  facts.project = config.project();
  facts.name = config.run_name();
  facts.user = config.user();
  facts.group = config.group();
  facts.notes = config.notes();
  for (const auto& entry : config.config()) facts.config[entry.path()] = entry.value();
  for (const auto& tag : config.tags()) facts.tags[tag.key()] = tag.value();
}

void apply_updates(const v1::Log& log, RunFacts& facts) {
  for (const auto& update : log.run_updates()) {
    if (update.has_run_name()) facts.name = update.run_name();
    if (update.has_group()) facts.group = update.group();
    if (update.has_notes()) facts.notes = update.notes();
    for (const auto& key : update.remove_tags()) facts.tags.erase(key);
    for (const auto& tag : update.set_tags()) facts.tags[tag.key()] = tag.value();
  }
  for (const auto& entry : log.config_updates()) update_value(entry.path(), entry.value(), facts.config);
  for (const auto& update : log.summary_updates()) update_value(update.key(), update.value(), facts.summary);
}

void overlay(const RunFacts& later, RunFacts& facts) {
  overlay_text(later.project, facts.project);
  overlay_text(later.name, facts.name);
  overlay_text(later.user, facts.user);
  overlay_text(later.group, facts.group);
  overlay_text(later.notes, facts.notes);
  for (const auto& [path, value] : later.config) facts.config[path] = value;
  for (const auto& [key, value] : later.tags) facts.tags[key] = value;
  for (const auto& [key, value] : later.summary) facts.summary[key] = value;
}

}  // namespace sideband::collector
