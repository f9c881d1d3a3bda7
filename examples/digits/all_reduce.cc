#include "examples/digits/all_reduce.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <string>
#include <utility>

#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace digits {

struct SharedMemory::Layout {
  pthread_barrier_t barrier;
  std::uint32_t ranks;
  std::size_t capacity;  // numbers a rank
  RankReport reports[kMaxRanks];
  // ranks * capacity doubles follow.
};

namespace {

tl::unexpected<sideband::Error> fail_with_errno(const std::string& what) {
  return sideband::fail(sideband::ErrorCode::kIo, "shared memory of the ranks: " + what + ": " + std::strerror(errno));
}

}  // namespace

sideband::Result<SharedMemory> SharedMemory::map(sideband::frame::FileDescriptor file, std::size_t bytes) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  if (memory == MAP_FAILED) return fail_with_errno("mmap");
  return SharedMemory(std::move(file), static_cast<Layout*>(memory), bytes);
}

sideband::Result<SharedMemory> SharedMemory::create(std::uint32_t ranks, std::size_t capacity) {
  const std::size_t bytes = sizeof(Layout) + ranks * capacity * sizeof(double);
  // Without MFD_CLOEXEC: the ranks are to inherit it.
  sideband::frame::FileDescriptor file(memfd_create("digits", 0));
  if (!file) return fail_with_errno("memfd_create");
  if (ftruncate(file.get(), static_cast<off_t>(bytes)) != 0) return fail_with_errno("ftruncate");
  auto shared = map(std::move(file), bytes);
  if (!shared) return shared;

  auto* layout = new (shared->layout_) Layout{.barrier = {}, .ranks = ranks, .capacity = capacity, .reports = {}};
  pthread_barrierattr_t attributes;
  pthread_barrierattr_init(&attributes);
  pthread_barrierattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  errno = pthread_barrier_init(&layout->barrier, &attributes, ranks);
  pthread_barrierattr_destroy(&attributes);
  if (errno != 0) return fail_with_errno("pthread_barrier_init");
  return shared;
}

sideband::Result<SharedMemory> SharedMemory::attach(int fd) {
  sideband::frame::FileDescriptor file(fd);
  struct stat status {};
  if (fstat(fd, &status) != 0) return fail_with_errno("fstat of the inherited descriptor");
  return map(std::move(file), static_cast<std::size_t>(status.st_size));
}

SharedMemory::SharedMemory(SharedMemory&& other) noexcept
    : file_(std::move(other.file_)), layout_(std::exchange(other.layout_, nullptr)), bytes_(other.bytes_) {}

SharedMemory::~SharedMemory() {
  if (layout_ != nullptr) munmap(layout_, bytes_);
}

void SharedMemory::average(std::uint32_t rank, std::span<double> values) {
  const auto mine = vector_of(rank, values.size());
  std::copy(values.begin(), values.end(), mine.begin());
  pthread_barrier_wait(&layout_->barrier);

  std::fill(values.begin(), values.end(), 0.0);
  const double weight = 1.0 / layout_->ranks;
  for (std::uint32_t other = 0; other < layout_->ranks; ++other) {
    const auto theirs = vector_of(other, values.size());
    for (std::size_t i = 0; i < values.size(); ++i) values[i] += weight * theirs[i];
  }
  // Nobody may write the next vector before everybody has read this one.
  pthread_barrier_wait(&layout_->barrier);
}

RankReport& SharedMemory::report(std::uint32_t rank) {
  return layout_->reports[rank];
}

std::uint32_t SharedMemory::ranks() const {
  return layout_->ranks;
}

std::span<double> SharedMemory::vector_of(std::uint32_t rank, std::size_t size) {
  auto* numbers = reinterpret_cast<double*>(layout_ + 1);
  return {numbers + rank * layout_->capacity, size};
}

}  // namespace digits
