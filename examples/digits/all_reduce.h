// Averages a vector over the ranks of one host, through memory that all of them share.
//
//   | barrier | ranks' reports | rank 0: n doubles | rank 1: n doubles | …
//
// The launcher creates the memory (a memfd, so that nothing is left behind however the processes end) and starts the
// ranks, which inherit the descriptor and map it again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "frame/frame_file.h"

namespace digits {

inline constexpr std::uint32_t kMaxRanks = 64;

// What a rank tells the launcher at its end.
struct RankReport {
  std::uint64_t points_logged = 0;
  std::uint64_t points_dropped = 0;
  std::uint64_t frames_left = 0;   // in the spool, not yet with the collector
  double validation_accuracy = 0;  // rank 0 only
};

// Owns one mapping. Each rank uses it from one thread.
class SharedMemory {
 public:
  // Launcher: memory for `ranks` vectors of up to `capacity` numbers. fd() is inherited by child processes.
  [[nodiscard]] static sideband::Result<SharedMemory> create(std::uint32_t ranks, std::size_t capacity);
  // Rank: the memory behind the descriptor that it inherited.
  [[nodiscard]] static sideband::Result<SharedMemory> attach(int fd);

  SharedMemory(SharedMemory&& other) noexcept;
  SharedMemory& operator=(SharedMemory&&) = delete;
  ~SharedMemory();

  // Every rank calls this with a vector of the same size, at most the capacity; it returns in all of them with the
  // mean. Waits for the slowest rank. The sum is made in order of rank, so that all ranks get the same bits.
  void average(std::uint32_t rank, std::span<double> values);
  [[nodiscard]] RankReport& report(std::uint32_t rank);

  [[nodiscard]] int fd() const { return file_.get(); }
  [[nodiscard]] std::uint32_t ranks() const;

 private:
  struct Layout;
  SharedMemory(sideband::frame::FileDescriptor file, Layout* layout, std::size_t bytes)
      : file_(std::move(file)), layout_(layout), bytes_(bytes) {}
  [[nodiscard]] static sideband::Result<SharedMemory> map(sideband::frame::FileDescriptor file, std::size_t bytes);
  [[nodiscard]] std::span<double> vector_of(std::uint32_t rank, std::size_t size);

  sideband::frame::FileDescriptor file_;
  Layout* layout_;
  std::size_t bytes_;
};

}  // namespace digits
