// The limit that the durable path is held to: write() of --bytes in pieces of --piece-bytes with one fdatasync a MiB or
// a piece, the larger, into --path. Prints one JSON line.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include <fcntl.h>
#include <unistd.h>
#include <CLI/CLI.hpp>

int main(int argc, char** argv) {
  std::string path;
  std::uint64_t bytes = 400U << 20;
  std::size_t piece_bytes = 262'144;
  std::uint64_t sync_bytes = 1U << 20;
  CLI::App app("raw_write: write + fdatasync");
  app.add_option("--path", path, "file to make and remove")->required();
  app.add_option("--bytes", bytes, "bytes in all");
  app.add_option("--piece-bytes", piece_bytes, "bytes a write()");
  app.add_option("--sync-bytes", sync_bytes, "bytes between two fdatasync");
  CLI11_PARSE(app, argc, argv);

  std::vector<std::uint8_t> piece(piece_bytes);
  std::uint32_t state = 1;
  for (auto& byte : piece) byte = static_cast<std::uint8_t>((state = state * 1664525U + 1013904223U) >> 24);
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0) {
    std::perror(path.c_str());
    return 1;
  }
  const auto start = std::chrono::steady_clock::now();
  std::uint64_t unsynced = 0;
  for (std::uint64_t done = 0; done < bytes;) {
    const std::size_t size = std::min<std::uint64_t>(piece.size(), bytes - done);
    if (::write(fd, piece.data(), size) != static_cast<ssize_t>(size)) {
      std::perror(path.c_str());
      return 1;
    }
    done += size;
    unsynced += size;
    if (unsynced >= sync_bytes || done == bytes) {
      if (::fdatasync(fd) != 0) {
        std::perror(path.c_str());
        return 1;
      }
      unsynced = 0;
    }
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  ::close(fd);
  ::unlink(path.c_str());
  std::printf("{\"bytes\": %llu, \"seconds\": %.4f}\n", static_cast<unsigned long long>(bytes), seconds);
  return 0;
}
