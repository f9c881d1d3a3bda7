// What a killed process left, with anything done to its files: the input cuts, overwrites, extends and deletes the
// segments, spool.meta, the rings and the names of a small spool, and adds frames that are whole but say anything.
// Whatever they hold, recovery ends without a crash; a spool that it made whole ends with END, and to recover it again
// changes nothing.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "sender/batcher.h"
#include "sender/recorder.h"
#include "sender/recovery.h"
#include "sender/spool.h"
#include "sender/spool_bytes.h"
#include "tests/fuzz/script.h"

namespace {

using namespace sideband;
using fuzz::require;
using fuzz::Script;
using namespace sideband::sender;
using Files = std::map<std::filesystem::path, std::string>;  // path below the root, to content

constexpr std::uint64_t kStream = 5;
constexpr std::size_t kMaxEdits = 64;

std::string read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

// A folder in memory, where syncing costs nothing.
class World {
 public:
  World() {
    std::string name = "/dev/shm/sideband-fuzz-XXXXXX";
    require(::mkdtemp(name.data()) != nullptr);
    root_ = name;
    leave_spool();
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root_)) {
      const auto path = std::filesystem::relative(entry.path(), root_);
      if (entry.is_regular_file() && path.filename() != "reserve") left_[path] = read_file(entry.path());
    }
  }
  ~World() {
    std::error_code ignored;
    std::filesystem::remove_all(root_, ignored);
  }
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  void play(Script script) {
    Files files = left_;
    for (std::size_t edits = 0; edits < kMaxEdits && !script.is_over(); ++edits) edit(files, script);
    write(files);
    (void)recover(spool_, RecoveryMode::kLook, root_ / "shm");
    if (is_made_whole()) check_whole();
  }

 private:
  // Three spooled rows and three in the ring, of two shapes, with a line of text.
  void leave_spool() {
    StreamInfo info;
    info.project = "project";
    info.run_id = "run";
    info.user = "ada";
    auto recorder = Recorder::open({.ring_bytes = 1 << 16}).value();
    auto spool = Spool::create({.root = root_ / "spool"}, info, kStream, 9).value();
    spool_ = spool->folder();
    std::filesystem::create_directories(root_ / "shm");
    require(spool->begin_segment({.monotonic_ns = 1, .wall_ns = 2}).has_value());
    recorder->keep_in_files(
        {.stream_id = kStream, .spool_id = info.spool_id, .spool_folder = spool_, .shared_memory = root_ / "shm"});
    Batcher batcher(*recorder);
    for (std::int64_t step = 1; step <= 3; ++step) log(*recorder, step);
    for (;;) {
      const LogPayload payload = batcher.next_payload(kStream, spool->head_seq() + 1, spool->keyframe_seq());
      if (payload.bytes.empty()) break;
      require(spool->append(frame::MessageType::kLog, payload.bytes).has_value());
      batcher.accept();
    }
    for (std::int64_t step = 4; step <= 6; ++step) log(*recorder, step);
    recorder->log_item({.kind = RecordKind::kText, .key = {}, .content = "the last words", .step = {}});
    // The inode of each new folder is another one: without it this one is no copy.
    require(SpoolFolder::look(spool_).write_meta({.stream_id = kStream, .open_count = 1, .inode = 0}).has_value());
  }
  static void log(Recorder& recorder, std::int64_t step) {
    const std::vector<Field> fields = {{"loss", 0.5}, {"accuracy", 0.25}};
    recorder.log_fields(step, std::span(fields).first(step % 2 == 0 ? 1 : 2));
  }

  void edit(Files& files, Script& script) const {
    if (files.empty()) return;
    const auto chosen = std::next(files.begin(), static_cast<std::ptrdiff_t>(script.byte() % files.size()));
    std::string& content = chosen->second;
    // The head of a ring is where most of its numbers are.
    const std::size_t place = script.place(content.size());
    switch (script.byte() % 7) {
      case 0:
        content.resize(place);
        break;
      case 1: {
        const std::string text = script.text(script.byte());
        content.replace(place, text.size(), text);
        break;
      }
      case 2:
        content += script.text(script.byte());
        break;
      case 3:
        files.erase(chosen);
        break;
      case 4:
        content += make_frame(static_cast<frame::MessageType>(script.byte()), script.text(script.byte()));
        break;
      case 5:
        if (place < content.size()) content[place] = static_cast<char>(content[place] ^ (1 << script.byte() % 8));
        break;
      case 6:
        files[chosen->first.parent_path() / ("segment-00000" + std::to_string(script.byte() % 10) + ".log")] = content;
        break;
    }
  }

  void write(const Files& files) const {
    for (const char* part : {"spool", "shm"}) std::filesystem::remove_all(root_ / part);
    std::filesystem::create_directories(spool_);
    for (const auto& [path, content] : files) {
      std::filesystem::create_directories((root_ / path).parent_path());
      std::ofstream(root_ / path, std::ios::binary) << content;
    }
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root_)) {
      if (entry.is_directory()) std::filesystem::permissions(entry.path(), std::filesystem::perms::owner_all);
    }
  }

  [[nodiscard]] bool is_made_whole() const {
    const auto recovered = recover(spool_, RecoveryMode::kRepair, root_ / "shm");
    return recovered && !recovered->report.is_empty && !recovered->report.is_copy;
  }

  void check_whole() const {
    const auto segments = SpoolFolder::look(spool_).list_segments().value();
    std::uint64_t last_seq = 0;
    bool is_ended = false;
    for (const auto& [number, path] : segments) {
      auto file = frame::FrameFileReader::open(path).value();
      for (auto item = file.next().value(); !std::holds_alternative<frame::End>(item); item = file.next().value()) {
        const auto* scanned = std::get_if<frame::ScannedFrame>(&item);
        if (scanned == nullptr || !frame::is_sequenced(scanned->frame.header.type)) continue;
        const auto id = frame::decode_stream_seq(scanned->frame.payload);
        if (!id || id->stream_id != kStream || id->seq <= last_seq) continue;  // not of this stream, or a repetition
        last_seq = id->seq;
        is_ended = scanned->frame.is(frame::MessageType::kEnd);
      }
    }
    // A CONFIG that the input brought may have made another stream of it.
    if (last_seq > 0 && left_.contains(std::filesystem::relative(segments.begin()->second, root_))) require(is_ended);
    const std::string before = read_file(segments.rbegin()->second);
    const auto again = recover(spool_, RecoveryMode::kRepair, root_ / "shm");
    require(again && again->report.was_ended);
    require(read_file(segments.rbegin()->second) == before);
    require(SpoolFolder::look(spool_).list_segments()->size() == segments.size());
  }

  std::filesystem::path root_, spool_;
  Files left_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static World world;
  world.play(Script(data, size));
  return 0;
}
