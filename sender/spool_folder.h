// The folder of one spool: `<root>/<32 hex of the spool id>/`, for its owner's eyes only.
//
//   lock                 held by the one process that writes or delivers the spool
//   spool.meta           stream id and how often the spool was opened; replaced as a whole
//   reserve              bytes set aside for a last frame on a full disk
//   segment-000001.log   frames: see docs/format.md
//
// Owned by one thread. What the lock keeps out: spool_lock.h.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "frame/frame_file.h"
#include "sender/messages.h"
#include "sender/spool_lock.h"

namespace sideband::sender {

struct SpoolMeta {
  std::uint64_t stream_id = 0;
  std::uint64_t open_count = 0;  // openings to write or to deliver: the collector lets the latest win
  std::uint64_t inode = 0;       // of the folder that its owner made; 0: not known
};

// 32 hex digits.
[[nodiscard]] std::string spool_name(const SpoolId& id);
// The id that such a name stands for; nullopt for any other name.
[[nodiscard]] std::optional<SpoolId> parse_spool_name(std::string_view name);

class SpoolFolder {
 public:
  // Makes a new folder, locked before it can be seen under its name. Errors: kAlreadyExists, kNoSpace, kIo.
  [[nodiscard]] static Result<SpoolFolder> create(const std::filesystem::path& root, const SpoolId& id);
  // Locks an existing one. kUnavailable: another process, or another part of this one, holds it.
  [[nodiscard]] static Result<SpoolFolder> open(const std::filesystem::path& path);
  // Without the lock, to look only.
  [[nodiscard]] static SpoolFolder look(const std::filesystem::path& path) { return SpoolFolder(path); }

  [[nodiscard]] Result<SpoolMeta> read_meta() const;
  [[nodiscard]] Result<void> write_meta(const SpoolMeta& meta) const;
  // Of the folder itself; 0: it is gone.
  [[nodiscard]] std::uint64_t inode() const;
  // Somebody copied it: the owner may still write to the original. A folder that was moved is no copy.
  [[nodiscard]] bool is_copy() const;

  // Number to path, in order. Other files are left out, and what only has a segment's name: a FIFO, a device or a link
  // to one would be read without end.
  [[nodiscard]] Result<std::map<std::uint32_t, std::filesystem::path>> list_segments() const;
  [[nodiscard]] std::filesystem::path segment_path(std::uint32_t number) const;

  // Sets bytes aside; free_reserve() gives them back to the disk, for the caller to use at once.
  [[nodiscard]] Result<void> make_reserve(std::uint64_t bytes) const;
  void free_reserve() const;

  // False: somebody deleted the lock or spool.meta, so that the folder no longer says whose it is.
  [[nodiscard]] bool is_whole() const;
  // Somebody deleted the folder, or the lock in it: makes it again and locks it.
  [[nodiscard]] Result<void> restore();
  // Deletes the folder and all that is in it: the oldest segment first and the lock last, so that whoever finds the
  // rest of a folder whose removal was cut off does not take it for a stream that never ended.
  [[nodiscard]] Result<void> remove() const;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  explicit SpoolFolder(std::filesystem::path path) : path_(std::move(path)) {}
  [[nodiscard]] Result<void> lock();

  std::filesystem::path path_;
  SpoolLock lock_;
};

// Where spools lie: `given`, else $SIDEBAND_SPOOL_DIR, else $XDG_STATE_HOME/sideband/spool, else
// ~/.local/state/sideband/spool. kInvalidArgument when none of them names a folder.
[[nodiscard]] Result<std::filesystem::path> choose_spool_root(const std::string& given,
                                                              const std::map<std::string, std::string>& environment);

}  // namespace sideband::sender
