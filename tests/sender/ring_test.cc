#include "sender/ring.h"

#include <memory>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace sideband::sender {
namespace {

constexpr std::size_t kCapacity = 1'024;

class RingTest : public testing::Test {
 protected:
  RingTest() {
    format_ring(bytes(), 3, kCapacity);
    producer_ = std::make_unique<RingProducer>(bytes());
    consumer_ = std::make_unique<RingConsumer>(bytes());
  }

  std::byte* bytes() { return reinterpret_cast<std::byte*>(memory_.data()); }

  // A record of `words` with `id`; false when the ring is full.
  bool put(std::uint16_t words, std::uint32_t id) {
    std::byte* at = producer_->reserve(words * kWordBytes);
    if (at == nullptr) return false;
    const RecordStart start{words, RecordKind::kRow, id};
    std::memcpy(at, &start, sizeof start);
    producer_->publish();
    return true;
  }
  // The ids of all records, which leave the ring.
  std::vector<std::uint32_t> take() {
    std::vector<std::uint32_t> ids;
    while (const RecordStart* record = consumer_->peek(consumer_->head())) {
      ids.push_back(record->id);
      consumer_->skip(*record);
    }
    consumer_->release();
    return ids;
  }

  struct alignas(kCacheLineBytes) Line {
    std::byte bytes[kCacheLineBytes];
  };
  std::vector<Line> memory_ = std::vector<Line>(ring_memory_bytes(kCapacity) / sizeof(Line));
  std::unique_ptr<RingProducer> producer_;
  std::unique_ptr<RingConsumer> consumer_;
};

using Ids = std::vector<std::uint32_t>;

TEST_F(RingTest, RecordsComeInOrder) {
  put(4, 1);
  put(5, 2);
  EXPECT_EQ(take(), (Ids{1, 2}));
}

TEST_F(RingTest, ReservedIsInvisibleUntilPublished) {
  static_cast<void>(producer_->reserve(64));
  EXPECT_EQ(consumer_->peek(consumer_->head()), nullptr);
}

TEST_F(RingTest, FullRingRefuses) {
  for (std::uint32_t i = 0; i < kCapacity / 64; ++i) ASSERT_TRUE(put(8, i));
  EXPECT_FALSE(put(1, 99));
}

TEST_F(RingTest, ReleasedRoomIsUsedAgain) {
  for (std::uint32_t i = 0; i < kCapacity / 64; ++i) ASSERT_TRUE(put(8, i));
  static_cast<void>(take());
  EXPECT_TRUE(put(8, 99));
}

TEST_F(RingTest, ReadButNotReleasedRoomIsKept) {
  for (std::uint32_t i = 0; i < kCapacity / 64; ++i) ASSERT_TRUE(put(8, i));
  consumer_->skip(*consumer_->peek(consumer_->head()));
  EXPECT_FALSE(put(8, 99));
}

TEST_F(RingTest, RewindReadsAgain) {
  put(4, 1);
  consumer_->skip(*consumer_->peek(consumer_->head()));
  consumer_->rewind();
  EXPECT_EQ(take(), (Ids{1}));
}

TEST_F(RingTest, RecordThatDoesNotFitAtTheEndGoesToTheStart) {
  put(100, 1);
  static_cast<void>(take());
  put(40, 2);  // 28 words are left before the end
  EXPECT_EQ(take(), (Ids{2}));
}

TEST_F(RingTest, EverySizeAtEveryOffsetComesBack) {
  std::uint32_t id = 0;
  for (std::uint16_t words = 1; words <= kCapacity / 2 / kWordBytes; ++words) {
    for (int turn = 0; turn < 20; ++turn) {
      ASSERT_TRUE(put(words, ++id));
      ASSERT_EQ(take(), (Ids{id}));
    }
  }
}

TEST_F(RingTest, PeekStopsAtTheLimit) {
  put(4, 1);
  const std::uint64_t limit = consumer_->head();
  put(4, 2);
  consumer_->skip(*consumer_->peek(limit));
  EXPECT_EQ(consumer_->peek(limit), nullptr);
}

TEST_F(RingTest, HalfFullIsSeenBeyondTheHalf) {
  put(64, 1);
  const bool at_half = producer_->seems_half_full();
  put(1, 2);
  EXPECT_TRUE(!at_half && producer_->seems_half_full());
}

TEST_F(RingTest, ANewProducerGoesOnWhereTheOldOneStopped) {
  put(4, 1);
  producer_ = std::make_unique<RingProducer>(bytes());
  put(4, 2);
  EXPECT_EQ(take(), (Ids{1, 2}));
}

TEST_F(RingTest, HeaderNamesTheRing) {
  const RingHeader& header = consumer_->header();
  EXPECT_TRUE(header.magic == kRingMagic && header.version == kRingVersion && header.ring_id == 3 &&
              header.capacity == kCapacity);
}

TEST_F(RingTest, TwoThreadsSeeTheSameRecords) {
  constexpr std::uint32_t kRecords = 200'000;
  std::jthread writer([this] {
    for (std::uint32_t i = 0; i < kRecords;) {
      if (put(static_cast<std::uint16_t>(1 + i % 23), i)) {
        ++i;
      } else {
        std::this_thread::yield();
      }
    }
  });
  std::uint32_t expected = 0;
  while (expected < kRecords) {
    for (const std::uint32_t id : take()) ASSERT_EQ(id, expected++);
    std::this_thread::yield();
  }
}

}  // namespace
}  // namespace sideband::sender
