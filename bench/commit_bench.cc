// Three ways to make what came in durable, at 1 to 1,000 runs that were written since the last commit. Prints one
// table:
//
//   fdatasync each     the frames in each run's own file, one fdatasync a file
//   syncfs             the same, one syncfs for all
//   shared journal     the frames once more in one file, one fdatasync; the runs' own files need no sync
//
// Usage: commit_bench FOLDER [rounds]. Run it on the disk that is meant, with nothing else writing there.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include "frame/frame_file.h"

namespace {

namespace fs = std::filesystem;
using sideband::frame::FileDescriptor;

constexpr std::size_t kBatchBytes = 1 << 20;  // what a commit covers at least under load
constexpr std::size_t kMinFileBytes = 1 << 10;

[[noreturn]] void give_up(const char* what) {
  std::perror(what);
  std::exit(1);
}

class Files {
 public:
  Files(const fs::path& folder, std::size_t count)
      : folder_(folder), bytes_(std::max(kBatchBytes / count, kMinFileBytes)) {
    for (std::size_t i = 0; i < count; ++i) files_.push_back(create("run-" + std::to_string(i)));
    journal_ = create("journal");
    block_.assign(bytes_, 'x');
    write_each();
    ::sync();
  }

  void write_each() {
    for (const auto& file : files_) write(file);
  }
  void write_journal() {
    for (std::size_t i = 0; i < files_.size(); ++i) write(journal_);
  }
  void sync_each() {
    for (const auto& file : files_) sync(file);
  }
  void sync_system() {
    if (::syncfs(journal_.get()) != 0) give_up("syncfs");
  }
  void sync_journal() { sync(journal_); }

 private:
  FileDescriptor create(const std::string& name) {
    FileDescriptor file(::open((folder_ / name).c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600));
    if (!file) give_up("open");
    return file;
  }
  void write(const FileDescriptor& file) {
    if (::write(file.get(), block_.data(), block_.size()) != static_cast<ssize_t>(block_.size())) give_up("write");
  }
  static void sync(const FileDescriptor& file) {
    if (::fdatasync(file.get()) != 0) give_up("fdatasync");
  }

  fs::path folder_;
  std::size_t bytes_;
  std::vector<FileDescriptor> files_;
  FileDescriptor journal_;
  std::string block_;
};

struct Way {
  const char* name;
  std::function<void(Files&)> prepare;  // not timed
  std::function<void(Files&)> commit;
};

std::string measure(Files& files, const Way& way, int rounds) {
  std::vector<double> ms;
  for (int round = 0; round < rounds; ++round) {
    way.prepare(files);
    const auto start = std::chrono::steady_clock::now();
    way.commit(files);
    ms.push_back(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
    files.sync_system();
  }
  std::sort(ms.begin(), ms.end());
  char text[64];
  std::snprintf(text, sizeof text, "%.1f (%.1f to %.1f)", ms[ms.size() / 2], ms.front(), ms.back());
  return text;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: commit_bench FOLDER [rounds]\n");
    return 1;
  }
  const int rounds = argc > 2 ? std::max(1, std::atoi(argv[2])) : 15;
  const std::vector<Way> ways{
      {"fdatasync each", [](Files& files) { files.write_each(); }, [](Files& files) { files.sync_each(); }},
      {"syncfs", [](Files& files) { files.write_each(); }, [](Files& files) { files.sync_system(); }},
      {"shared journal", [](Files& files) { files.write_each(); },
       [](Files& files) {
         files.write_journal();
         files.sync_journal();
       }},
  };
  std::printf("ms to make one batch durable: median (least to most) of %d rounds\n\n| dirty files |", rounds);
  for (const Way& way : ways) std::printf(" %s |", way.name);
  std::printf("\n| --- | --- | --- | --- |\n");
  for (const std::size_t count : {1, 4, 16, 64, 100, 1'000}) {
    const fs::path folder = fs::path(argv[1]) / ("commit_bench." + std::to_string(::getpid()));
    fs::create_directories(folder);
    {
      Files files(folder, count);
      std::printf("| %zu |", count);
      for (const Way& way : ways) std::printf(" %s |", measure(files, way, rounds).c_str());
      std::printf("\n");
      std::fflush(stdout);
    }
    fs::remove_all(folder);
  }
  return 0;
}
