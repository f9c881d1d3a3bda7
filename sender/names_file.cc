#include "sender/names_file.h"

#include <array>
#include <cstring>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>
#include <xxhash.h>

#include "sender/names.h"

namespace sideband::sender {
namespace {

constexpr std::array<char, 16> kHead = {'Z', 'Z', 'Z', 'Z', 'N', 'A', 'M', 'E', 1};

struct SetHead {
  std::uint32_t bytes = 0;
  std::uint32_t checksum = 0;
};

std::uint32_t checksum_of(const void* data, std::size_t bytes) {
  return XXH32(data, bytes, static_cast<std::uint32_t>(bytes));
}

bool write_at(int fd, std::uint64_t offset, std::string_view text) noexcept {
  const ssize_t wrote = ::pwrite(fd, text.data(), text.size(), static_cast<off_t>(offset));
  return wrote == static_cast<ssize_t>(text.size());
}

struct Set {
  std::vector<std::string_view> keys;
  std::vector<ValueKind> kinds;
};

// Empty: not a set.
Set parse_set(std::string_view bytes) {
  Set set;
  while (!bytes.empty()) {
    std::uint32_t length = 0;
    if (bytes.size() <= sizeof length) return {};
    std::memcpy(&length, bytes.data(), sizeof length);
    const auto kind = static_cast<std::uint8_t>(bytes[sizeof length]);
    bytes.remove_prefix(sizeof length + 1);
    if (length > bytes.size() || kind > static_cast<std::uint8_t>(ValueKind::kInt)) return {};
    set.keys.push_back(bytes.substr(0, length));
    set.kinds.push_back(static_cast<ValueKind>(kind));
    bytes.remove_prefix(length);
  }
  return set;
}

}  // namespace

NamesFile NamesFile::begin(frame::FileDescriptor file) {
  NamesFile names;
  if (!write_at(file.get(), 0, {kHead.data(), kHead.size()})) return names;
  names.file_ = std::move(file);
  names.bytes_ = kHead.size();
  return names;
}

bool NamesFile::append(std::string_view set) noexcept {
  if (!file_) return false;
  try {
    const SetHead head{static_cast<std::uint32_t>(set.size()), checksum_of(set.data(), set.size())};
    std::string bytes(reinterpret_cast<const char*>(&head), sizeof head);
    bytes += set;
    if (bytes_ + bytes.size() <= kMaxNamesBytes && write_at(file_.get(), bytes_, bytes)) {
      bytes_ += bytes.size();
      return true;
    }
  } catch (const std::bad_alloc&) {  // as if the disk were full
  }
  file_ = {};
  return false;
}

void read_names(frame::Bytes file, Names& names) {
  std::string_view rest(reinterpret_cast<const char*>(file.data()), file.size());
  if (!rest.starts_with(std::string_view(kHead.data(), kHead.size()))) return;
  rest.remove_prefix(kHead.size());
  for (;;) {
    SetHead head;
    if (rest.size() < sizeof head) return;
    std::memcpy(&head, rest.data(), sizeof head);
    rest.remove_prefix(sizeof head);
    if (head.bytes > rest.size() || checksum_of(rest.data(), head.bytes) != head.checksum) return;
    const Set set = parse_set(rest.substr(0, head.bytes));
    if (set.keys.empty()) return;
    static_cast<void>(names.shape(set.keys, set.kinds));
    rest.remove_prefix(head.bytes);
  }
}

}  // namespace sideband::sender
