#include "frame/scanner.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace sideband::frame {
namespace {

// Distance to the next place where the magic, or the start of one cut off by the end, stands; bytes.size() if nowhere.
std::size_t find_magic(Bytes bytes) {
  constexpr auto kMagicByte = static_cast<std::byte>(kMagic & 0xFF);
  std::size_t at = 0;
  while (at < bytes.size()) {
    const void* hit = std::memchr(bytes.data() + at, std::to_integer<int>(kMagicByte), bytes.size() - at);
    if (hit == nullptr) return bytes.size();
    at = static_cast<std::size_t>(static_cast<const std::byte*>(hit) - bytes.data());
    const Bytes candidate = bytes.subspan(at, std::min(sizeof kMagic, bytes.size() - at));
    if (std::ranges::all_of(candidate, [](std::byte b) { return b == kMagicByte; })) return at;
    ++at;
  }
  return bytes.size();
}

}  // namespace

void Scanner::push(Bytes bytes) {
  buffer_.erase(buffer_.begin(), buffer_.begin() + static_cast<std::ptrdiff_t>(position_));
  position_ = 0;
  buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
}

ScanItem Scanner::next() {
  for (;;) {
    const Bytes bytes = pending();
    const std::size_t to_magic = find_magic(bytes);
    if (to_magic > 0) {
      skip_damage(to_magic, "bad magic: expected 0x5A5A5A5A");
      continue;
    }
    if (bytes.size() < kHeaderBytes) {
      if (!finished_) return NeedMore{};
      if (bytes.empty()) return end_of_input();
      skip_torn();
      continue;
    }
    const auto header = decode_header(bytes);
    if (!header) {
      skip_damage(1, header.error().message);
      continue;
    }
    const std::size_t frame_bytes = kHeaderBytes + header->payload_bytes;
    if (bytes.size() < frame_bytes) {
      if (!finished_) return NeedMore{};
      skip_torn();
      continue;
    }
    const auto frame = decode_frame(bytes.first(frame_bytes));
    if (!frame) {
      skip_damage(1, frame.error().message);
      continue;
    }
    if (damage_bytes_ > 0) {  // the good frame comes with the next call
      torn_offset_.reset();
      return take_damage();
    }
    const std::uint64_t offset = offset_;
    advance(frame_bytes);
    return ScannedFrame{offset, *frame};
  }
}

void Scanner::advance(std::size_t bytes) {
  position_ += bytes;
  offset_ += bytes;
}

void Scanner::skip_damage(std::size_t bytes, const std::string& reason) {
  if (damage_bytes_ == 0) damage_reason_ = reason;
  damage_bytes_ += bytes;
  advance(bytes);
}

// The input ends inside this candidate. It is a torn tail only if no good frame follows it, which the scan goes on to
// find out.
void Scanner::skip_torn() {
  if (!torn_offset_) torn_offset_ = offset_;
  skip_damage(1, "bad length: the frame would end past the input, yet a good frame follows");
}

Damage Scanner::take_damage() {
  Damage damage{offset_ - damage_bytes_, damage_bytes_, std::move(damage_reason_)};
  damage_bytes_ = 0;
  return damage;
}

ScanItem Scanner::end_of_input() {
  if (!torn_offset_) {
    if (damage_bytes_ > 0) return take_damage();
    return End{offset_, torn_bytes_};
  }
  torn_bytes_ = offset_ - *torn_offset_;
  damage_bytes_ -= torn_bytes_;
  offset_ = *torn_offset_;
  torn_offset_.reset();
  return end_of_input();
}

}  // namespace sideband::frame
