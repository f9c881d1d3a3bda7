#include "collector/security/allow_list.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace sideband::collector {
namespace {

constexpr std::array<std::string_view, 3> kRoleNames{"write", "read", "both"};
constexpr std::size_t kMaxNameBytes = 64;
constexpr std::size_t kFingerprintDigits = 16;
constexpr std::string_view kBlank = " \t\r";

std::string_view next_word(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(kBlank), text.size()));
  const std::string_view word = text.substr(0, text.find_first_of(kBlank));
  text.remove_prefix(word.size());
  return word;
}

// What is wrong with the line; empty: nothing.
std::string parse_line(std::string_view line, AllowedKey& key) {
  const std::string_view digits = next_word(line);
  const std::string_view role_text = next_word(line);
  key.name = next_word(line);
  const auto public_key = parse_key(digits);
  if (!public_key) return fmt::format("a public key of 64 hex digits, found {} characters", digits.size());
  const auto role = parse_role(role_text);
  if (!role) return fmt::format("the role write, read or both, found \"{}\"", role_text);
  if (!is_valid_key_name(key.name))
    return fmt::format("a name of 1 to 64 letters, digits, . _ -, found \"{}\"", key.name);
  if (!next_word(line).empty()) return "nothing behind the name, found more words";
  key.public_key = *public_key;
  key.role = *role;
  return {};
}

}  // namespace

std::optional<Role> parse_role(std::string_view text) {
  const auto found = std::ranges::find(kRoleNames, text);
  if (found == kRoleNames.end()) return std::nullopt;
  return static_cast<Role>(found - kRoleNames.begin());
}

std::string_view role_name(Role role) {
  return kRoleNames[static_cast<std::size_t>(role)];
}

bool may_write(Role role) {
  return role != Role::kRead;
}

bool may_read(Role role) {
  return role != Role::kWrite;
}

bool is_valid_key_name(std::string_view name) {
  constexpr std::string_view kAllowed = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
  return !name.empty() && name.size() <= kMaxNameBytes && name != kLocalUser &&
         name.find_first_not_of(kAllowed) == std::string_view::npos;
}

std::string AllowedKey::user() const {
  return fmt::format("{}/{}", name, format_key(public_key).substr(0, kFingerprintDigits));
}

std::string owner_of(std::string_view user) {
  return std::string(user == kLocalUser ? kSenderKeyName : user.substr(0, user.find('/')));
}

Result<AllowList> AllowList::parse(std::string_view text, const std::string& path) {
  AllowList list;
  for (std::size_t number = 1; !text.empty(); ++number) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    line = line.substr(0, line.find('#'));
    if (line.find_first_not_of(kBlank) == std::string_view::npos) continue;
    AllowedKey key;
    std::string problem = parse_line(line, key);
    if (problem.empty() && list.find_name(key.name) != nullptr)
      problem = fmt::format("each name once, found \"{}\" again", key.name);
    if (problem.empty() && list.find(key.public_key) != nullptr) problem = "each key once, found one again";
    if (!problem.empty())
      return fail(ErrorCode::kInvalidArgument, fmt::format("line {}: expected {}: {}", number, problem, path));
    list.keys_.push_back(std::move(key));
  }
  return list;
}

const AllowedKey* AllowList::find(const CurveKey& public_key) const {
  const auto found = std::ranges::find(keys_, public_key, &AllowedKey::public_key);
  return found == keys_.end() ? nullptr : &*found;
}

const AllowedKey* AllowList::find_name(std::string_view name) const {
  const auto found = std::ranges::find(keys_, name, &AllowedKey::name);
  return found == keys_.end() ? nullptr : &*found;
}

const AllowedKey* AllowList::find_user(std::string_view user) const {
  const AllowedKey* key = find_name(user.substr(0, user.find('/')));
  return key != nullptr && key->user() == user ? key : nullptr;
}

bool AllowList::lets_write(std::string_view user) const {
  const AllowedKey* key = find_user(user);
  return user == kLocalUser || (key != nullptr && may_write(key->role));
}

bool AllowList::lets_read(std::string_view user) const {
  const AllowedKey* key = find_user(user);
  return user == kLocalUser || (key != nullptr && may_read(key->role));
}

std::string format_allowed(const AllowedKey& key) {
  return fmt::format("{} {} {}\n", format_key(key.public_key), role_name(key.role), key.name);
}

}  // namespace sideband::collector
