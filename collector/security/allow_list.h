// Who may connect: the lines of keys/authorized. Pure.
//
//   <public key, 64 hex digits> <write|read|both> <name>      # anything after a # is a remark
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "frame/connect_string.h"

namespace sideband::collector {

enum class Role { kWrite, kRead, kBoth };

[[nodiscard]] std::optional<Role> parse_role(std::string_view text);
[[nodiscard]] std::string_view role_name(Role role);
[[nodiscard]] bool may_write(Role role);
[[nodiscard]] bool may_read(Role role);

// 1 to 64 of A-Z a-z 0-9 . _ -, and not "local", which stands for those who need no key.
[[nodiscard]] bool is_valid_key_name(std::string_view name);

struct AllowedKey {
  CurveKey public_key{};
  Role role = Role::kWrite;
  std::string name;

  // What a connection with this key is called: name/<first 16 digits of the public key>. Another key of the same name
  // is another user, and the same owner of runs.
  [[nodiscard]] std::string user() const;
};

// The name in front of the "/". Those who need no key count as the key that the collector made for senders.
[[nodiscard]] std::string owner_of(std::string_view user);

inline constexpr std::string_view kLocalUser = "local";
inline constexpr std::string_view kSenderKeyName = "sender";
inline constexpr std::string_view kReaderKeyName = "reader";

class AllowList {
 public:
  // kInvalidArgument names the line and `path`.
  [[nodiscard]] static Result<AllowList> parse(std::string_view text, const std::string& path);

  [[nodiscard]] const AllowedKey* find(const CurveKey& public_key) const;
  [[nodiscard]] const AllowedKey* find_name(std::string_view name) const;
  // Is this the user() of a key that may write?
  [[nodiscard]] bool lets_write(std::string_view user) const;
  [[nodiscard]] bool lets_read(std::string_view user) const;
  [[nodiscard]] std::size_t size() const { return keys_.size(); }

 private:
  [[nodiscard]] const AllowedKey* find_user(std::string_view user) const;

  std::vector<AllowedKey> keys_;
};

// One line of the file, with its end.
[[nodiscard]] std::string format_allowed(const AllowedKey& key);

}  // namespace sideband::collector
