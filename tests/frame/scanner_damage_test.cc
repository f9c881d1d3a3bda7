// One property under every small damage: whatever happens to one frame, all others are found, and what is left of the
// damaged one is reported with its place and size.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "frame/scanner.h"
#include "tests/frame/frames.h"

namespace sideband::frame {
namespace {

struct Outcome {
  std::set<std::string> payloads;
  std::uint64_t frame_bytes = 0;
  std::uint64_t lost_bytes = 0;  // damaged or torn
  std::uint64_t lost_begin = UINT64_MAX;
  std::uint64_t lost_end = 0;
};

class ScannerDamage : public testing::Test {
 protected:
  // Payloads with magics and with a length that reaches over several frames, where a careless scanner would jump. None
  // ends in Z: a Z deleted there could as well be the next frame's first.
  ScannerDamage() {
    for (const char* payload : {"first", "ZZZZ in a payload ZZZZ.", "ZZZZ\x20", "ZZZZZZZZZZZZZZZZ.", "last"}) {
      payloads_.insert(payload);
      borders_.push_back(file_.size());
      file_ = concat({file_, make_frame(payload)});
    }
    borders_.push_back(file_.size());
  }

  static Outcome scan(const ByteVector& bytes) {
    Scanner scanner;
    scanner.push(bytes);
    scanner.finish();
    Outcome outcome;
    const auto lose = [&outcome](std::uint64_t offset, std::uint64_t size) {
      if (size == 0) return;
      outcome.lost_bytes += size;
      outcome.lost_begin = std::min(outcome.lost_begin, offset);
      outcome.lost_end = std::max(outcome.lost_end, offset + size);
    };
    for (;;) {
      const ScanItem item = scanner.next();
      if (const auto* found = std::get_if<ScannedFrame>(&item)) {
        outcome.payloads.insert(to_text(found->frame.payload));
        outcome.frame_bytes += found->frame.bytes.size();
      }
      if (const auto* damage = std::get_if<Damage>(&item)) lose(damage->offset, damage->bytes);
      if (const auto* end = std::get_if<End>(&item)) {
        lose(end->offset, end->torn_bytes);
        return outcome;
      }
    }
  }

  // Index of the frame that holds the byte at `offset`.
  [[nodiscard]] std::size_t frame_at(std::size_t offset) const {
    std::size_t frame = 0;
    while (borders_[frame + 1] <= offset) ++frame;
    return frame;
  }

  // `damaged` differs from the file within frame `victim` only, and is longer by `growth` bytes.
  void expect_only_victim_lost(const ByteVector& damaged, std::size_t victim, int growth,
                               const std::string& what) const {
    const Outcome outcome = scan(damaged);
    EXPECT_GE(outcome.payloads.size(), payloads_.size() - 1) << what;
    EXPECT_EQ(outcome.frame_bytes + outcome.lost_bytes, damaged.size()) << what;
    EXPECT_GT(outcome.lost_bytes, 0U) << what;
    EXPECT_GE(outcome.lost_begin, borders_[victim]) << what;
    EXPECT_LE(outcome.lost_end, borders_[victim + 1] + growth) << what;
  }

  ByteVector file_;
  std::vector<std::size_t> borders_;  // of the frames, the end included
  std::set<std::string> payloads_;
};

TEST_F(ScannerDamage, AnyByteChangedToAnyOtherLosesOneFrame) {
  for (std::size_t at = 0; at < file_.size(); ++at) {
    for (int change = 1; change < 256; ++change) {
      ByteVector damaged = file_;
      damaged[at] ^= static_cast<std::byte>(change);
      expect_only_victim_lost(damaged, frame_at(at), 0,
                              "byte " + std::to_string(at) + " changed by " + std::to_string(change));
    }
  }
}

TEST_F(ScannerDamage, AnyByteDeletedLosesOneFrame) {
  for (std::size_t at = 0; at < file_.size(); ++at) {
    ByteVector damaged = file_;
    damaged.erase(damaged.begin() + static_cast<std::ptrdiff_t>(at));
    expect_only_victim_lost(damaged, frame_at(at), -1, "byte " + std::to_string(at) + " deleted");
  }
}

TEST_F(ScannerDamage, AnyByteInsertedLosesOneFrame) {
  for (std::size_t at = 0; at < file_.size(); ++at) {
    for (int value = 0; value < 256; ++value) {
      ByteVector damaged = file_;
      damaged.insert(damaged.begin() + static_cast<std::ptrdiff_t>(at), static_cast<std::byte>(value));
      expect_only_victim_lost(damaged, frame_at(at), 1,
                              "byte " + std::to_string(value) + " inserted at " + std::to_string(at));
    }
  }
}

TEST_F(ScannerDamage, AnyRangeZeroedIsReportedInFull) {
  for (std::size_t begin = 0; begin < file_.size(); ++begin) {
    for (std::size_t size = 1; begin + size <= file_.size(); ++size) {
      ByteVector damaged = file_;
      std::fill_n(damaged.begin() + static_cast<std::ptrdiff_t>(begin), size, std::byte{0});
      if (damaged == file_) continue;
      const Outcome outcome = scan(damaged);
      EXPECT_EQ(outcome.frame_bytes + outcome.lost_bytes, damaged.size()) << begin << "+" << size;
    }
  }
}

TEST_F(ScannerDamage, UndamagedFileLosesNothing) {
  EXPECT_EQ(scan(file_).lost_bytes, 0U);
}

}  // namespace
}  // namespace sideband::frame
