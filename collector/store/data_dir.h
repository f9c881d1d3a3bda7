// The folder that a collector owns: one collector at a time, one store id for ever.
//
//   data_dir/lock        held while a collector runs; names its pid
//   data_dir/store_id    32 hex digits, made at the first start
//   data_dir/runs/<run id>/frames-000001.log …
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "collector/handoff.h"
#include "frame/frame_file.h"
#include "frame/result.h"

namespace sideband::collector {

class DataDir {
 public:
  // Creates what is missing. kUnavailable: another collector holds it, the message names its pid.
  [[nodiscard]] static Result<DataDir> open(const std::filesystem::path& path);

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] std::filesystem::path run_folder(const std::string& run_id) const { return path_ / "runs" / run_id; }
  [[nodiscard]] const StoreId& store_id() const { return store_id_; }

 private:
  DataDir(std::filesystem::path path, frame::FileDescriptor lock, StoreId store_id)
      : path_(std::move(path)), lock_(std::move(lock)), store_id_(store_id) {}

  std::filesystem::path path_;
  frame::FileDescriptor lock_;  // closing it ends the lock, also when the process is killed
  StoreId store_id_;
};

// "frames-000001.log"
[[nodiscard]] std::string segment_name(std::uint32_t segment);
// 0: not a segment's name.
[[nodiscard]] std::uint32_t segment_number(const std::string& name);

}  // namespace sideband::collector
