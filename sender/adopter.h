// Delivers, beside a live publisher, what dead processes of the same user on the same host left in the same spool root:
// their points reach the collector without anybody calling `sideband sync`.
//
//   spool root ──unlocked spools of this host──▶ recover() ──▶ deliver() ──▶ delete
//
// A thread of its own at the lowest priority, with its own link. The publisher says when it may work: while the own
// stream is connected and not behind. One spool at a time; the spool's lock keeps two adopters apart. A process that
// ends in the middle leaves the spool to the next one. What the collector refuses is not tried again by this process.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>

namespace sideband::sender {

struct AdopterSettings {
  std::filesystem::path root;  // of the spools
  std::string host;            // of this process, as in CONFIG: the rings of others are in other memory
  std::string endpoint;        // of the collector that takes the own stream
  std::string library;
  std::int64_t heartbeat_ms = 30'000;
  std::chrono::milliseconds interval{30'000};  // between looks at the root
};

class Adopter {
 public:
  // Null when no thread can be made: the spools stay for another process.
  [[nodiscard]] static std::unique_ptr<Adopter> start(AdopterSettings settings);
  // Waits for the thread, half a second at most; one that its disk holds up ends by itself.
  ~Adopter();
  Adopter(const Adopter&) = delete;
  Adopter& operator=(const Adopter&) = delete;

  // Any thread. False: what is under way is left at once, for later.
  void allow(bool may_work) noexcept;
  // Any thread. For good; does not wait.
  void stop() noexcept;

 private:
  struct Impl;
  explicit Adopter(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}

  std::shared_ptr<Impl> impl_;  // shared with the thread, which may outlive this object
  std::thread thread_;
};

}  // namespace sideband::sender
