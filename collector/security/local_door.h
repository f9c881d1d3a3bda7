// Lets the programs of the same user on this host find the collector without being told: the lines to connect by, in
// the runtime folder (frame/runtime_folder.h), which nobody else may enter.
//
//   lock                 held while a collector is found here; what one that was killed left is replaced by the next
//   control, data, tap   local sockets: no keys, the kernel says which user connects
//   connect              the line for senders, connect_tap for readers; files 0600
#pragma once

#include <filesystem>
#include <string>

#include "frame/frame_file.h"
#include "frame/result.h"

namespace sideband::collector {

class LocalDoor {
 public:
  // Makes the folder. kUnavailable: another collector of this user holds it.
  [[nodiscard]] static Result<LocalDoor> open(const std::filesystem::path& folder);
  LocalDoor(LocalDoor&&) noexcept = default;
  LocalDoor& operator=(LocalDoor&&) noexcept = default;
  // Takes the lines and the sockets away.
  ~LocalDoor();

  // "ipc://FOLDER/control", …
  [[nodiscard]] std::string endpoint(const char* name) const { return "ipc://" + (folder_ / name).string(); }
  // Says that the sockets are there.
  [[nodiscard]] Result<void> publish() const;

 private:
  LocalDoor(std::filesystem::path folder, frame::FileDescriptor lock)
      : folder_(std::move(folder)), lock_(std::move(lock)) {}

  std::filesystem::path folder_;
  frame::FileDescriptor lock_;
};

}  // namespace sideband::collector
