#include "collector/security/access.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

namespace sideband::collector {
namespace {

constexpr std::string_view kIpcHost = "localhost:";
constexpr std::size_t kShownDigits = 16;

// "localhost:<uid>:<gid>:<pid>" is the address of a peer on a local socket, as the kernel names it.
bool is_own_ipc_peer(std::string_view address) {
  if (!address.starts_with(kIpcHost)) return false;
  const std::string_view digits = address.substr(kIpcHost.size());
  uid_t uid = 0;
  const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), uid);
  return error == std::errc() && stop != digits.data() + digits.size() && *stop == ':' && uid == ::geteuid();
}

std::string wrong_role(const AllowedKey& key, bool reads) {
  return fmt::format("key {} has the role {}, {} needs {} or both", key.user(), role_name(key.role),
                     reads ? "the tap" : "a sender", role_name(reads ? Role::kRead : Role::kWrite));
}

}  // namespace

Decision Access::decide(const ConnectionRequest& request) const {
  if (is_own_ipc_peer(request.address)) return {true, std::string(kLocalUser), {}};
  if (request.address.starts_with(kIpcHost)) return {false, {}, "a local peer of another user"};
  if (!secure_) return {true, {}, {}};
  if (request.mechanism != "CURVE" || request.credential.size() != kKeyBytes)
    return {false, {}, fmt::format("a peer without a key, mechanism {}", request.mechanism)};
  CurveKey public_key{};
  std::ranges::copy(request.credential, public_key.begin());
  const bool reads = request.domain == kReadDomain;
  const std::lock_guard lock(mutex_);
  const AllowedKey* key = list_.find(public_key);
  if (key == nullptr)
    return {
        false, {}, fmt::format("key {}… is not in keys/authorized", format_key(public_key).substr(0, kShownDigits))};
  if (reads ? !may_read(key->role) : !may_write(key->role)) return {false, {}, wrong_role(*key, reads)};
  return {true, key->user(), {}};
}

bool Access::lets_write(std::string_view user) const {
  if (!secure_) return true;
  const std::lock_guard lock(mutex_);
  return list_.lets_write(user);
}

bool Access::lets_read(std::string_view user) const {
  if (!secure_) return true;
  const std::lock_guard lock(mutex_);
  return list_.lets_read(user);
}

void Access::replace(AllowList list) {
  {
    const std::lock_guard lock(mutex_);
    list_ = std::move(list);
  }
  generation_.fetch_add(1, std::memory_order_release);
}

}  // namespace sideband::collector
