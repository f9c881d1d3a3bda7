// Takes frames and damage in order, keeps what the filters want, and prints it in the form that was asked for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "frame/scanner.h"
#include "tools/dump_stats.h"
#include "tools/frame_text.h"
#include "tools/output.h"
#include "tools/stream_book.h"

namespace sideband::tools {

enum class DumpForm { kText, kJson, kHex, kStats };

struct DumpOptions {
  DumpForm form = DumpForm::kText;
  bool unpack = false;                 // JSON: the contents of zstd_batch in place of it
  bool name_files = false;             // several inputs: say which one each line is from
  std::optional<std::uint64_t> limit;  // frames
  std::string project, run;
  std::vector<std::uint8_t> types;  // empty: all
  KeyPattern key;
};

// Owned by one thread.
class DumpPrinter {
 public:
  DumpPrinter(DumpOptions options, Output& out) : options_(std::move(options)), out_(out) {}

  // What follows is from this input.
  void set_input(const std::string& name);
  void add_frame(std::uint64_t offset, const frame::Frame& frame);
  void add_damage(const frame::Damage& damage);
  // The input ended inside a frame.
  void add_torn_tail(const frame::End& end);
  // After the last input.
  void finish();

  // The limit is reached or nobody reads.
  [[nodiscard]] bool done() const { return out_.done() || (options_.limit && printed_ >= *options_.limit); }
  // Frames that the filters let through.
  [[nodiscard]] std::uint64_t printed() const { return printed_; }
  [[nodiscard]] bool saw_damage() const { return saw_damage_; }

 private:
  [[nodiscard]] bool is_wanted(const BookedFrame& frame) const;
  [[nodiscard]] bool is_of_run(const BookedFrame& frame) const;
  [[nodiscard]] std::string frame_json(std::uint64_t offset, const BookedFrame& frame) const;
  [[nodiscard]] std::string json_start() const;
  void print_input_name();

  DumpOptions options_;
  Output& out_;
  StreamBook book_;
  DumpStats stats_;
  std::string input_;
  bool input_is_named_ = false;
  std::uint64_t printed_ = 0;
  bool saw_damage_ = false;
};

}  // namespace sideband::tools
