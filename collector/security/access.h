// Decides who may connect to which socket. Logic without sockets; shared by the ZAP thread, which asks for each
// connection, the receiver, which asks for each session, and whoever reloads the list.
#pragma once

#include <atomic>
#include <mutex>
#include <string>
#include <string_view>

#include "collector/security/allow_list.h"
#include "collector/sockets.h"

namespace sideband::collector {

struct ConnectionRequest {
  std::string_view domain;
  std::string_view address;     // "10.0.0.3", or of ipc "localhost:<uid>:<gid>:<pid>"
  std::string_view mechanism;   // "NULL", "CURVE"
  std::string_view credential;  // of CURVE: 32 bytes, the client's public key
};

struct Decision {
  bool allowed = false;
  std::string user;    // how the connection's messages are marked; empty: nobody in particular
  std::string reason;  // when it is not allowed: for our log
};

class Access {
 public:
  // Without a list everybody may do everything (--insecure).
  Access() = default;
  explicit Access(AllowList list) : secure_(true), list_(std::move(list)) {}

  [[nodiscard]] Decision decide(const ConnectionRequest& request) const;
  // A user as decide() named it, by the list as it is at this moment.
  [[nodiscard]] bool lets_write(std::string_view user) const;
  [[nodiscard]] bool lets_read(std::string_view user) const;
  [[nodiscard]] bool secure() const { return secure_; }

  void replace(AllowList list);
  // Grows with each replace().
  [[nodiscard]] std::uint64_t generation() const { return generation_.load(std::memory_order_acquire); }

 private:
  const bool secure_ = false;
  // Guards the list. A queue would not do: each thread needs the list as a whole, and one of them waits for a
  // connection and not for the list.
  mutable std::mutex mutex_;
  AllowList list_;
  std::atomic<std::uint64_t> generation_{0};
};

}  // namespace sideband::collector
