// The promise of the logging side: every point that was not counted as dropped comes back, bit for bit, in each
// thread's order.
#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <random>
#include <thread>

#include <gtest/gtest.h>

#include "sender/batcher.h"
#include "sender/recorder.h"
#include "tests/sender/log_reader.h"

namespace sideband::sender {
namespace {

// What one thread logs: rows of random keys, kinds, widths, steps and bits. Keys begin with the thread's number.
class RandomLogger {
 public:
  RandomLogger(Recorder& recorder, unsigned number) : recorder_(recorder), random_(number + 1) {
    for (int i = 0; i < 60; ++i)
      keys_.push_back(std::to_string(number) + "/" + std::string(random_() % 30, 'k') + std::to_string(i));
  }

  void log_rows(int count) {
    for (int i = 0; i < count; ++i) {
      const std::size_t first = random_() % 20;
      const std::size_t width = random_() % 10 == 0 ? 40 : 1 + random_() % 3;
      const auto step = random_() % 4 == 0 ? static_cast<std::int64_t>(random_()) : i;
      std::vector<Field> fields;
      for (std::size_t k = 0; k < width; ++k) fields.push_back(make_field(keys_[first + k]));
      for (const Field& field : fields) {
        points.push_back(field.is_int ? int_point(std::string(field.key), step, field.int_value)
                                      : float_point(std::string(field.key), step, field.float_value));
      }
      recorder_.log_fields(step, fields);
    }
  }

  std::vector<Point> points;

 private:
  Field make_field(std::string_view key) {
    switch (random_() % 4) {
      case 0:
        return {key, static_cast<std::int64_t>(random_())};
      case 1:
        return {key, std::bit_cast<double>(random_())};  // any bits: NaNs of all kinds, infinities, denormals
      default:
        return {key, static_cast<float>(random_() % 1'000) * 0.001F};
    }
  }

  Recorder& recorder_;
  std::mt19937_64 random_;
  std::vector<std::string> keys_;
};

// The order within one key of one thread: tables are written one after another, so rows of different tables of a frame
// are not interleaved.
std::map<std::string, std::vector<Point>> by_key(const std::vector<Point>& points) {
  std::map<std::string, std::vector<Point>> sorted;
  for (const Point& point : points) sorted[point.key + (point.is_int ? " int" : " float")].push_back(point);
  return sorted;
}

// Rows of one set of keys form a table; the same key in two tables of one frame has no order but that of its rows'
// steps and times.
std::vector<std::pair<std::int64_t, std::uint64_t>> sorted_values(std::vector<Point> points) {
  std::vector<std::pair<std::int64_t, std::uint64_t>> values;
  for (const Point& point : points) values.emplace_back(point.step, point.bits);
  std::sort(values.begin(), values.end());
  return values;
}

TEST(LogProperty, EveryPointOfEveryThreadComesBackBitForBit) {
  constexpr int kThreads = 4;
  const auto recorder =
      Recorder::open(
          {.ring_bytes = 262'144, .queue_policy = QueuePolicy::kWait, .queue_wait = std::chrono::seconds(100)})
          .value();
  std::vector<std::unique_ptr<RandomLogger>> loggers;
  for (unsigned i = 0; i < kThreads; ++i) loggers.push_back(std::make_unique<RandomLogger>(*recorder, i));

  std::atomic<int> running{kThreads};
  std::vector<std::jthread> threads;
  for (const auto& logger : loggers) {
    threads.emplace_back([&] {
      logger->log_rows(3'000);
      --running;
    });
  }
  Batcher batcher(*recorder);
  LogReader reader;
  std::mt19937_64 random(99);
  std::uint64_t seq = 0;
  for (;;) {
    const bool is_last = running == 0;
    const LogPayload payload = batcher.next_payload(1, seq + 1, 1);
    if (payload.bytes.empty()) {
      if (is_last) break;
      continue;
    }
    // A spool that must roll over asks for the payload again.
    if (random() % 4 == 0) continue;
    if (random() % 16 == 0) {
      batcher.repeat_definitions();
      continue;
    }
    reader.read(payload.bytes);
    batcher.accept();
    ++seq;
  }
  threads.clear();

  std::vector<Point> logged;
  for (const auto& logger : loggers) logged.insert(logged.end(), logger->points.begin(), logger->points.end());
  const auto expected = by_key(logged);
  const auto found = by_key(reader.points);
  ASSERT_EQ(found.size(), expected.size());
  for (const auto& [key, points] : expected) {
    ASSERT_TRUE(found.contains(key)) << key;
    ASSERT_EQ(sorted_values(found.at(key)), sorted_values(points)) << key;
  }
  EXPECT_EQ(batcher.points_total(), logged.size());
}

TEST(LogProperty, RowsOfOneTableKeepTheOrderOfTheirThread) {
  constexpr int kThreads = 4, kRows = 30'000;
  const auto recorder =
      Recorder::open(
          {.ring_bytes = 65'536, .queue_policy = QueuePolicy::kWait, .queue_wait = std::chrono::seconds(100)})
          .value();
  std::atomic<int> running{kThreads};
  std::vector<std::jthread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, key = "thread" + std::to_string(i)] {
      const std::vector<std::string_view> keys = {key};
      const std::uint32_t shape = recorder->register_row(keys);
      for (int step = 0; step < kRows; ++step) {
        const double value = step;
        recorder->log_row(shape, step, &value, 1);
      }
      --running;
    });
  }
  Batcher batcher(*recorder);
  LogReader reader;
  for (std::uint64_t seq = 1;; ++seq) {
    const bool is_last = running == 0;
    const LogPayload payload = batcher.next_payload(1, seq, 1);
    if (!payload.bytes.empty()) {
      reader.read(payload.bytes);
      batcher.accept();
    } else if (is_last) {
      break;
    }
  }
  threads.clear();
  for (const auto& [key, points] : by_key(reader.points)) {
    ASSERT_EQ(points.size(), static_cast<std::size_t>(kRows));
    for (int step = 0; step < kRows; ++step) ASSERT_EQ(points[static_cast<std::size_t>(step)].step, step) << key;
  }
}

}  // namespace
}  // namespace sideband::sender
