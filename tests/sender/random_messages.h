// Messages with random fields, and the same as protoc's classes.
#pragma once

#include <bit>
#include <random>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "proto/sideband.pb.h"
#include "sender/messages.h"

namespace sideband::sender {

inline frame::Bytes as_bytes(const std::string& payload) {
  return std::as_bytes(std::span(payload));
}

inline std::string id_text(const SpoolId& id) {
  return {reinterpret_cast<const char*>(id.data()), id.size()};
}

// Numbers of every length as a varint, zero included: a field that is left out is a case of its own.
class MessagesTest : public testing::Test {
 protected:
  std::uint64_t number() { return random_() % 8 == 0 ? 0 : random_() >> (random_() % 64); }
  std::int64_t signed_number() { return static_cast<std::int64_t>(coin() ? number() : ~number()); }
  std::uint32_t small_number() { return static_cast<std::uint32_t>(number()); }
  bool coin() { return random_() % 2 == 0; }
  std::string text() { return std::string(random_() % 200, 'a') + (coin() ? "\u00E9" : ""); }
  SpoolId id() {
    SpoolId bytes;
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random_());
    return bytes;
  }
  Credit credit() { return {number() | 1, number(), number()}; }
  static void set(v1::Credit* out, const Credit& from) {
    out->set_token(from.token);
    out->set_credit_seq(from.credit_seq);
    out->set_credit_bytes(from.credit_bytes);
  }
  Value value() {
    switch (random_() % 6) {
      case 0:
        return std::monostate();
      case 1:
        return coin();
      case 2:
        return signed_number();
      case 3:
        return std::bit_cast<double>(number());
      case 4:
        return text();
      default:
        return Json{"[1]"};
    }
  }
  static void set(v1::Value* out, const Value& from) {
    if (std::holds_alternative<std::monostate>(from)) out->set_null_value(true);
    if (const auto* held = std::get_if<bool>(&from)) out->set_bool_value(*held);
    if (const auto* held = std::get_if<std::int64_t>(&from)) out->set_int_value(*held);
    if (const auto* held = std::get_if<double>(&from)) out->set_double_value(*held);
    if (const auto* held = std::get_if<std::string>(&from)) out->set_text_value(*held);
    if (const auto* held = std::get_if<Json>(&from)) out->set_json_value(held->text);
  }
  StreamInfo stream_info() {
    StreamInfo info;
    info.spool_id = id();
    info.project = text();
    info.run_id = text();
    info.run_name = text();
    info.user = text();
    info.rank = small_number();
    info.world_size = small_number() | 1;
    info.local_rank = small_number();
    info.host = text();
    info.pid = number();
    info.attempt = small_number();
    info.parent_attempt = small_number();
    if (coin()) info.resume_step = signed_number();
    for (std::uint64_t i = random_() % 5; i > 0; --i) info.config.emplace_back(text(), value());
    for (std::uint64_t i = random_() % 5; i > 0; --i) info.tags.emplace_back(text(), text());
    info.group = text();
    info.notes = text();
    for (std::uint64_t i = random_() % 5; i > 0; --i) info.environment.emplace_back(text(), text());
    info.opened = {signed_number(), signed_number()};
    info.library = text();
    return info;
  }
  static v1::Config to_proto(std::uint64_t stream_id, std::uint64_t seq, const StreamInfo& info) {
    v1::Config config;
    config.set_stream_id(stream_id);
    config.set_seq(seq);
    config.set_spool_id(id_text(info.spool_id));
    config.set_project(info.project);
    config.set_run_id(info.run_id);
    config.set_run_name(info.run_name);
    config.set_user(info.user);
    config.set_rank(info.rank);
    config.set_world_size(info.world_size);
    config.set_local_rank(info.local_rank);
    config.set_host(info.host);
    config.set_pid(info.pid);
    config.set_attempt(info.attempt);
    config.set_parent_attempt(info.parent_attempt);
    if (info.resume_step) config.set_resume_step(*info.resume_step);
    for (const auto& [path, entry] : info.config) {
      auto* out = config.add_config();
      out->set_path(path);
      set(out->mutable_value(), entry);
    }
    const auto add_tag = [](v1::Tag* tag, const auto& pair) {
      tag->set_key(pair.first);
      tag->set_value(pair.second);
    };
    for (const auto& pair : info.tags) add_tag(config.add_tags(), pair);
    config.set_group(info.group);
    config.set_notes(info.notes);
    for (const auto& pair : info.environment) add_tag(config.add_environment(), pair);
    config.mutable_opened()->set_monotonic_ns(info.opened.monotonic_ns);
    config.mutable_opened()->set_wall_ns(info.opened.wall_ns);
    config.set_library(info.library);
    return config;
  }

  std::mt19937_64 random_{42};
};

}  // namespace sideband::sender
