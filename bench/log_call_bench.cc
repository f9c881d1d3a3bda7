// What a log() call costs the training thread, beside a plain memcpy of the same numbers and beside an asynchronous
// logger.
//
//   bin/log_call_bench --benchmark_repetitions=7 --benchmark_report_aggregates_only=true
//
// A drain thread empties the ring as the publisher does, without spool and socket, so that the ring is never full and
// both sides meet on its cache lines. `dropped` must be 0, or the figure is that of a full ring.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <benchmark/benchmark.h>
#include <spdlog/async.h>
#include <spdlog/sinks/null_sink.h>

#include "sender/batcher.h"
#include "sender/recorder.h"

namespace {

using sideband::sender::Batcher;
using sideband::sender::Recorder;

class DrainedRecorder {
 public:
  DrainedRecorder() : recorder_(Recorder::open({.ring_bytes = 64U << 20}).value()) {
    // The ring lies in a file, as a trainer's does.
    recorder_->keep_in_files({.stream_id = 1, .spool_id = {}, .spool_folder = "."});
    drain_ = std::jthread([this](const std::stop_token& stop) {
      Batcher batcher(*recorder_);
      while (!stop.stop_requested()) {
        if (batcher.next_payload(1, 1, 1).bytes.empty()) {
          std::this_thread::sleep_for(std::chrono::milliseconds(1));
        } else {
          batcher.accept();
        }
      }
    });
  }

  ~DrainedRecorder() { static_cast<void>(recorder_->remove_files()); }

  Recorder& recorder() { return *recorder_; }
  std::uint32_t shape(std::size_t width) {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < width; ++i) names.push_back("train/metric." + std::to_string(i));
    return recorder_->register_row(std::vector<std::string_view>(names.begin(), names.end()));
  }
  void report(benchmark::State& state) const {
    std::uint64_t dropped = 0;
    for (const std::uint64_t points : recorder_->drops()) dropped += points;
    state.counters["dropped"] = static_cast<double>(dropped);
  }

 private:
  std::unique_ptr<Recorder> recorder_;
  std::jthread drain_;
};

void ScalarLog(benchmark::State& state) {
  DrainedRecorder drained;
  Recorder& recorder = drained.recorder();
  const std::uint32_t shape = drained.shape(1);
  std::int64_t step = 0;
  double value = 0.5;
  for (auto _ : state) {
    recorder.log_row(shape, ++step, &value, 1);
    benchmark::DoNotOptimize(value += 0.25);
  }
  drained.report(state);
}
BENCHMARK(ScalarLog);

// As a training loop calls it: bursts of 20, with other work and a drain in between. p50_ns and p999_ns are of one call
// within a burst, the reading of the clock around it taken off by dividing by the burst.
template <typename Call>
void call_in_bursts(benchmark::State& state, Call call) {
  constexpr int kBurst = 20;
  std::vector<char> other_work(256 << 10);
  std::vector<double> call_ns;
  std::int64_t step = 0;
  for (auto _ : state) {
    std::memset(other_work.data(), static_cast<int>(step), other_work.size());
    benchmark::ClobberMemory();
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < kBurst; ++i) call(++step);
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - start;
    call_ns.push_back(took.count() / kBurst);
    state.SetIterationTime(took.count() * 1e-9 / kBurst);
  }
  std::sort(call_ns.begin(), call_ns.end());
  state.counters["p50_ns"] = call_ns[call_ns.size() / 2];
  state.counters["p999_ns"] = call_ns[call_ns.size() * 999 / 1000];
}

void ScalarLogInBursts(benchmark::State& state) {
  DrainedRecorder drained;
  Recorder& recorder = drained.recorder();
  const std::uint32_t shape = drained.shape(1);
  const double value = 0.5;
  call_in_bursts(state, [&](std::int64_t step) { recorder.log_row(shape, step, &value, 1); });
  drained.report(state);
}
BENCHMARK(ScalarLogInBursts)->Iterations(50'000)->UseManualTime();

void RowLog(benchmark::State& state) {
  DrainedRecorder drained;
  Recorder& recorder = drained.recorder();
  const auto width = static_cast<std::size_t>(state.range(0));
  const std::uint32_t shape = drained.shape(width);
  std::vector<double> values(width, 0.5);
  std::int64_t step = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(values.data());
    recorder.log_row(shape, ++step, values.data(), width);
  }
  drained.report(state);
}
BENCHMARK(RowLog)->Arg(10)->Arg(200);

void LogByNames(benchmark::State& state) {
  DrainedRecorder drained;
  Recorder& recorder = drained.recorder();
  std::int64_t step = 0;
  double value = 0.5;
  for (auto _ : state) {
    const std::array<sideband::Field, 10> fields = {{{"train/loss", value},
                                                     {"train/accuracy", value},
                                                     {"train/lr", value},
                                                     {"train/grad_norm", value},
                                                     {"train/tokens", step},
                                                     {"eval/loss", value},
                                                     {"eval/accuracy", value},
                                                     {"perf/step_ms", value},
                                                     {"perf/tokens_per_s", value},
                                                     {"epoch", step}}};
    recorder.log_fields(++step, fields);
    benchmark::DoNotOptimize(value += 0.25);
  }
  drained.report(state);
}
BENCHMARK(LogByNames);

// The limit for RowLog: the same bytes into memory of the same size.
void MemcpyRow(benchmark::State& state) {
  constexpr std::size_t kBytes = 64U << 20;
  const auto width = static_cast<std::size_t>(state.range(0));
  const std::size_t bytes = sideband::sender::row_record_bytes(width);
  std::vector<std::byte> target(kBytes + bytes), source(bytes);
  std::size_t at = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(source.data());
    std::memcpy(target.data() + at, source.data(), bytes);
    benchmark::ClobberMemory();
    at = (at + bytes) % kBytes;
  }
}
BENCHMARK(MemcpyRow)->Arg(1)->Arg(10)->Arg(200);

// The limit for ScalarLog: its clock.
void ReadTicks(benchmark::State& state) {
  const auto counter = sideband::sender::TickCounter::detect();
  for (auto _ : state) benchmark::DoNotOptimize(counter.now());
}
BENCHMARK(ReadTicks);

// A peer: text logging with a queue and a thread, the sink thrown away.
std::shared_ptr<spdlog::async_logger> make_logger(const std::shared_ptr<spdlog::details::thread_pool>& pool) {
  return std::make_shared<spdlog::async_logger>("bench", std::make_shared<spdlog::sinks::null_sink_mt>(), pool,
                                                spdlog::async_overflow_policy::overrun_oldest);
}

void SpdlogAsync(benchmark::State& state) {
  const auto pool = std::make_shared<spdlog::details::thread_pool>(1U << 16, 1);
  const auto logger = make_logger(pool);
  std::int64_t step = 0;
  double value = 0.5;
  for (auto _ : state) {
    logger->info("train/loss step={} value={}", ++step, value);
    benchmark::DoNotOptimize(value += 0.25);
  }
}
BENCHMARK(SpdlogAsync);

void SpdlogAsyncInBursts(benchmark::State& state) {
  const auto pool = std::make_shared<spdlog::details::thread_pool>(1U << 16, 1);
  const auto logger = make_logger(pool);
  call_in_bursts(state, [&](std::int64_t step) { logger->info("train/loss step={} value={}", step, 0.5); });
}
BENCHMARK(SpdlogAsyncInBursts)->Iterations(50'000)->UseManualTime();

}  // namespace

BENCHMARK_MAIN();
