#include "collector/security/key_folder.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/security/curve.h"
#include "frame/frame_file.h"

namespace sideband::collector {
namespace {

constexpr mode_t kFolderMode = 0700;
constexpr mode_t kFileMode = 0600;

tl::unexpected<Error> fail_errno(const std::string& what, const std::filesystem::path& path) {
  return fail(errno == ENOSPC ? ErrorCode::kNoSpace : ErrorCode::kIo,
              fmt::format("keys: {} failed: {}: {}", what, std::strerror(errno), path.string()));
}

Result<std::string> read_text(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file)
    return fail(ErrorCode::kIo, fmt::format("keys: cannot be read: {}: {}", std::strerror(errno), path.string()));
  return std::string(std::istreambuf_iterator<char>(file), {});
}

bool file_exists(const std::filesystem::path& path) {
  return ::access(path.c_str(), F_OK) == 0;
}

Result<CurveKey> read_secret(const std::filesystem::path& path) {
  const auto text = read_text(path);
  if (!text) return tl::unexpected(text.error());
  const auto key = parse_key(text->substr(0, text->find('\n')));
  if (!key)
    return fail(ErrorCode::kCorrupt,
                "keys: expected 64 hex digits, found another text; restore the file from a backup: " + path.string());
  return *key;
}

Result<CurveKey> read_or_make_secret(const std::filesystem::path& path) {
  if (file_exists(path)) return read_secret(path);
  auto secret = make_secret_key();
  if (!secret) return secret;
  if (auto written = replace_file(path, format_key(*secret) + "\n"); !written) return tl::unexpected(written.error());
  return secret;
}

}  // namespace

Result<void> replace_file(const std::filesystem::path& path, std::string_view text) {
  const std::filesystem::path draft = path.string() + ".new";
  ::unlink(draft.c_str());
  const frame::FileDescriptor file(::open(draft.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kFileMode));
  if (!file) return fail_errno("open", draft);
  if (::write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    return fail_errno("write", draft);
  if (::fsync(file.get()) != 0) return fail_errno("sync", draft);
  if (::rename(draft.c_str(), path.c_str()) != 0) return fail_errno("rename", draft);
  return frame::sync_folder(path.has_parent_path() ? path.parent_path() : ".");
}

Result<KeyFolder> KeyFolder::open(const std::filesystem::path& data_dir) {
  KeyFolder folder(data_dir / "keys");
  std::error_code ignored;
  std::filesystem::create_directories(data_dir, ignored);  // what fails is told by mkdir
  if (::mkdir(folder.path_.c_str(), kFolderMode) != 0 && errno != EEXIST) return fail_errno("mkdir", folder.path_);
  const auto secret = read_or_make_secret(folder.path_ / "server.key");
  if (!secret) return tl::unexpected(secret.error());
  const auto public_key = public_key_of(*secret);
  if (!public_key) return tl::unexpected(public_key.error());
  folder.server_secret_ = *secret;
  folder.server_public_ = *public_key;
  if (!file_exists(folder.authorized_path())) {
    if (auto made = folder.make_default_keys(); !made) return tl::unexpected(made.error());
  }
  return folder;
}

// `authorized` comes last: without it the next start does all of this again.
Result<void> KeyFolder::make_default_keys() const {
  std::string text = "# <public key> <write|read|both> <name>; a running collector reads it again at SIGHUP\n";
  for (const auto& [name, role] : {std::pair{kSenderKeyName, Role::kWrite}, std::pair{kReaderKeyName, Role::kRead}}) {
    const auto secret = read_or_make_secret(path_ / fmt::format("{}.key", name));
    if (!secret) return tl::unexpected(secret.error());
    const auto public_key = public_key_of(*secret);
    if (!public_key) return tl::unexpected(public_key.error());
    text += format_allowed({*public_key, role, std::string(name)});
  }
  return replace_file(authorized_path(), text);
}

std::string KeyFolder::connect_line(const std::string& endpoint, const CurveKey& client_secret) const {
  return format_connect_string({endpoint, ConnectKeys{server_public_, client_secret}});
}

std::string KeyFolder::connect_line(const std::string& endpoint, std::string_view key_name) const {
  const auto secret = read_secret(path_ / fmt::format("{}.key", key_name));
  if (secret) return connect_line(endpoint, *secret);
  return fmt::format("{}?server_key={}", endpoint, format_key(server_public_));
}

Result<AllowList> KeyFolder::read_allowed() const {
  const auto text = read_text(authorized_path());
  if (!text) return tl::unexpected(text.error());
  return AllowList::parse(*text, authorized_path().string());
}

Result<CurveKey> KeyFolder::add_key(const std::string& name, Role role) const {
  if (!is_valid_key_name(name))
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("key name: expected 1 to 64 letters, digits, . _ - and not local, found \"{}\"", name));
  const auto allowed = read_allowed();
  if (!allowed) return tl::unexpected(allowed.error());
  if (allowed->find_name(name) != nullptr)
    return fail(ErrorCode::kAlreadyExists,
                fmt::format("there is a key with this name; take another, or remove it first: {}", name));
  auto secret = make_secret_key();
  if (!secret) return secret;
  const auto public_key = public_key_of(*secret);
  if (!public_key) return tl::unexpected(public_key.error());
  auto text = read_text(authorized_path());
  if (!text) return tl::unexpected(text.error());
  if (!text->empty() && text->back() != '\n') *text += '\n';
  *text += format_allowed({*public_key, role, name});
  if (auto written = replace_file(authorized_path(), *text); !written) return tl::unexpected(written.error());
  return secret;
}

Result<void> KeyFolder::remove_key(const std::string& name) const {
  const auto allowed = read_allowed();
  if (!allowed) return tl::unexpected(allowed.error());
  const AllowedKey* key = allowed->find_name(name);
  if (key == nullptr) return fail(ErrorCode::kNotFound, "no key has this name: " + name);
  const auto text = read_text(authorized_path());
  if (!text) return tl::unexpected(text.error());
  std::string kept;
  for (std::string_view rest = *text; !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    const auto parsed = AllowList::parse(line, {});
    if (parsed && parsed->find_name(name) != nullptr) continue;
    kept.append(line).append("\n");
  }
  return replace_file(authorized_path(), kept);
}

Result<void> KeyFolder::write_address(const CollectorAddress& address) const {
  return replace_file(path_ / "address", fmt::format("{}\n{}\n", address.control, address.tap));
}

CollectorAddress KeyFolder::read_address() const {
  std::ifstream file(path_ / "address");
  CollectorAddress address, found;
  if (std::getline(file, found.control) && std::getline(file, found.tap)) return found;
  return address;
}

}  // namespace sideband::collector
