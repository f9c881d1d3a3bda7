// What the publisher pays to turn logged rows into frames, checksum included, beside libprotobuf's packed columns of
// the same data.
//
//   bin/encode_bench --benchmark_repetitions=7 --benchmark_report_aggregates_only=true
//
// items/s are points. `wire_bytes` is the payload's bytes a point. Both sides begin with the rows in memory and end
// with a payload and its frame header.
#include <array>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "frame/codec.h"
#include "proto/sideband.pb.h"
#include "sender/batcher.h"
#include "sender/recorder.h"

namespace {

using sideband::sender::Batcher;
using sideband::sender::LogPayload;
using sideband::sender::Recorder;

constexpr std::size_t kRows = 300;

std::vector<std::string> make_names(std::size_t width) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < width; ++i) names.push_back("train/metric." + std::to_string(i));
  return names;
}

// Values as a loss computed in float32, or as one computed in float64.
double make_value(std::size_t i, bool is_float) {
  const double value = std::sin(static_cast<double>(i)) * 3.7;
  return is_float ? static_cast<double>(static_cast<float>(value)) : value;
}

void add_header(std::string_view payload) {
  std::array<std::byte, sideband::frame::kHeaderBytes> header;
  sideband::frame::encode_header(sideband::frame::MessageType::kLog, std::as_bytes(std::span(payload)), header);
  benchmark::DoNotOptimize(header);
}

// Encodes without accepting, so that the same rows are encoded at each turn.
void BatcherEncode(benchmark::State& state) {
  const auto width = static_cast<std::size_t>(state.range(0));
  const bool is_float = state.range(1) == 32;
  const auto recorder = Recorder::open({.ring_bytes = 64U << 20}).value();
  const auto names = make_names(width);
  const std::uint32_t shape = recorder->register_row(std::vector<std::string_view>(names.begin(), names.end()));
  std::vector<double> row(width);
  for (std::size_t step = 0; step < kRows * 200 / width; ++step) {
    for (std::size_t i = 0; i < width; ++i) row[i] = make_value(step * width + i, is_float);
    recorder->log_row(shape, static_cast<std::int64_t>(step), row.data(), width);
  }
  Batcher batcher(*recorder);
  static_cast<void>(batcher.next_payload(1, 1, 1));
  batcher.accept();
  LogPayload payload;
  std::uint64_t points = 0;
  for (auto _ : state) {
    payload = batcher.next_payload(1, 2, 1);
    add_header(payload.bytes);
    points += payload.points;
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(points));
  state.counters["wire_bytes"] = static_cast<double>(payload.bytes.size()) / static_cast<double>(payload.points);
  state.counters["payload_bytes"] = static_cast<double>(payload.bytes.size());
}
BENCHMARK(BatcherEncode)
    ->ArgNames({"width", "bits"})
    ->Args({200, 32})
    ->Args({200, 64})
    ->Args({10, 32})
    ->Args({1, 32})
    ->Args({1, 64});

void ProtobufEncode(benchmark::State& state) {
  const auto width = static_cast<std::size_t>(state.range(0));
  const bool is_float = state.range(1) == 32;
  const std::size_t row_count = kRows * 200 / width / (is_float ? 1 : 2);
  std::vector<std::vector<double>> rows(row_count, std::vector<double>(width));
  for (std::size_t step = 0; step < row_count; ++step) {
    for (std::size_t i = 0; i < width; ++i) rows[step][i] = make_value(step * width + i, is_float);
  }
  sideband::v1::Log log;
  std::string payload;
  for (auto _ : state) {
    log.Clear();
    log.set_stream_id(1);
    log.set_seq(2);
    auto* table = log.add_rows();
    table->set_row_count(static_cast<std::uint32_t>(row_count));
    table->set_step_stride(1);
    for (std::size_t row = 1; row < row_count; ++row) table->add_time_deltas_us(10);
    for (std::size_t column = 0; column < width; ++column) {
      auto* values = table->add_columns();
      if (is_float) {
        values->mutable_float_values()->Reserve(static_cast<int>(row_count));
        for (const auto& row : rows) values->add_float_values(static_cast<float>(row[column]));
      } else {
        values->mutable_double_values()->Reserve(static_cast<int>(row_count));
        for (const auto& row : rows) values->add_double_values(row[column]);
      }
    }
    log.SerializeToString(&payload);
    add_header(payload);
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations() * row_count * width));
  state.counters["wire_bytes"] = static_cast<double>(payload.size()) / static_cast<double>(row_count * width);
}
BENCHMARK(ProtobufEncode)
    ->ArgNames({"width", "bits"})
    ->Args({200, 32})
    ->Args({200, 64})
    ->Args({10, 32})
    ->Args({1, 32})
    ->Args({1, 64});

// The part of both that is the checksum.
void Checksum(benchmark::State& state) {
  const std::string payload(250'000, 'x');
  for (auto _ : state) add_header(payload);
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * payload.size()));
}
BENCHMARK(Checksum);

}  // namespace

BENCHMARK_MAIN();
