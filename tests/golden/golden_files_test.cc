// Each golden file, read by our own code, says what its JSON says.
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <google/protobuf/util/json_util.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>
#include <zstd.h>
#include <nlohmann/json.hpp>

#include "frame/frame_file.h"
#include "frame/scanner.h"
#include "tests/golden/golden_files.h"

namespace sideband::golden {
namespace {

using google::protobuf::Message;
using nlohmann::json;

const std::vector<std::string> kNames = {"format_example", "every_message", "collector_log",
                                         "spool_segment",  "damaged",       "edge_values"};

std::unique_ptr<Message> decode_message(const frame::Frame& found) {
  auto message = make_message(found.header.type);
  if (message == nullptr) return nullptr;
  if (!message->ParseFromArray(found.payload.data(), static_cast<int>(found.payload.size()))) return nullptr;
  return message;
}

// The dump line of a frame, without its message.
json dump_frame(const frame::ScannedFrame& found) {
  const auto& header = found.frame.header;
  const auto name = frame::type_name(header.type);
  json line = {{"offset", found.offset},
               {"type", name ? std::string(*name) : fmt::format("0x{:02X}", header.type)},
               {"length", header.payload_bytes},
               {"checksum_ok", true}};
  if (frame::is_sequenced(header.type)) {
    const auto identity = frame::decode_stream_seq(found.frame.payload);
    line["stream_id"] = fmt::format("{:016x}", identity->stream_id);
    line["seq"] = identity->seq;
  }
  return line;
}

// What the JSON says of a message, as a message again: so that numbers are compared by their bits, not by their
// spelling.
void expect_same_message(Message& found, const json& expected) {
  const std::unique_ptr<Message> wanted(found.New());
  const auto status = google::protobuf::util::JsonStringToMessage(expected.dump(), wanted.get());
  ASSERT_TRUE(status.ok()) << status.ToString();
  found.DiscardUnknownFields();
  google::protobuf::util::DefaultFieldComparator comparator;
  comparator.set_treat_nan_as_equal(true);
  google::protobuf::util::MessageDifferencer differencer;
  differencer.set_field_comparator(&comparator);
  std::string difference;
  differencer.ReportDifferencesToString(&difference);
  EXPECT_TRUE(differencer.Compare(*wanted, found)) << difference;
}

void expect_same_item(const frame::ScanItem& item, json expected) {
  if (const auto* damage = std::get_if<frame::Damage>(&item)) {
    EXPECT_EQ(json({{"offset", damage->offset}, {"damage_bytes", damage->bytes}, {"reason", damage->reason}}),
              expected);
  } else if (const auto* end = std::get_if<frame::End>(&item)) {
    EXPECT_EQ(json({{"offset", end->offset}, {"damage_bytes", end->torn_bytes}, {"reason", "torn tail"}}), expected);
  } else {
    const auto& found = std::get<frame::ScannedFrame>(item);
    const json expected_message = expected.at("message");
    expected.erase("message");
    EXPECT_EQ(dump_frame(found), expected);
    const auto message = decode_message(found.frame);
    ASSERT_EQ(message == nullptr, expected_message.is_null());
    if (message != nullptr) expect_same_message(*message, expected_message);
  }
}

frame::Scanner scan_golden_file(const std::string& name) {
  frame::Scanner scanner;
  scanner.push(as_bytes(read_golden_file(name + ".frames")));
  scanner.finish();
  return scanner;
}

// All messages of a golden file that can be decoded.
std::vector<std::unique_ptr<Message>> decode_golden_file(const std::string& name) {
  std::vector<std::unique_ptr<Message>> messages;
  auto scanner = scan_golden_file(name);
  for (auto item = scanner.next(); !std::holds_alternative<frame::End>(item); item = scanner.next()) {
    const auto* found = std::get_if<frame::ScannedFrame>(&item);
    if (found == nullptr) continue;
    if (auto message = decode_message(found->frame)) messages.push_back(std::move(message));
  }
  return messages;
}

class GoldenFile : public testing::TestWithParam<std::string> {};

TEST_P(GoldenFile, SaysWhatItsJsonSays) {
  std::istringstream lines(read_golden_file(GetParam() + ".json"));
  auto scanner = scan_golden_file(GetParam());
  std::string line;
  while (std::getline(lines, line)) {
    SCOPED_TRACE(line);
    expect_same_item(scanner.next(), json::parse(line));
  }
  const auto last = scanner.next();
  EXPECT_TRUE(std::holds_alternative<frame::End>(last)) << "the file holds more than its JSON says";
}

INSTANTIATE_TEST_SUITE_P(All, GoldenFile, testing::ValuesIn(kNames), [](const auto& chosen) { return chosen.param; });

// ---- every message and field ----

void note_fields(const Message& message, std::set<std::string>& names) {
  std::vector<const google::protobuf::FieldDescriptor*> fields;
  const auto* reflection = message.GetReflection();
  reflection->ListFields(message, &fields);
  for (const auto* field : fields) {
    names.insert(field->full_name());
    if (field->message_type() == nullptr) continue;
    if (!field->is_repeated()) {
      note_fields(reflection->GetMessage(message, field), names);
      continue;
    }
    for (int i = 0; i < reflection->FieldSize(message, field); ++i) {
      note_fields(reflection->GetRepeatedMessage(message, field, i), names);
    }
  }
}

// Of live.pb, which is no file of frames: it is derived, and nobody keeps it.
bool is_in_frames(const google::protobuf::Descriptor& type) {
  return type.name() != "RunLive" && type.name() != "StreamLive";
}

TEST(GoldenFiles, EveryFieldOfTheContractIsInOne) {
  std::set<std::string> found;
  for (const auto& name : kNames) {
    for (const auto& message : decode_golden_file(name)) note_fields(*message, found);
  }
  const auto* contract = v1::Log::descriptor()->file();
  for (int i = 0; i < contract->message_type_count(); ++i) {
    const auto* type = contract->message_type(i);
    if (!is_in_frames(*type)) continue;
    for (int j = 0; j < type->field_count(); ++j) {
      EXPECT_TRUE(found.contains(type->field(j)->full_name()))
          << type->field(j)->full_name() << " is in no golden file: set it in tests/golden/generate.py and run that";
    }
  }
}

TEST(GoldenFiles, EveryNamedTypeIsInOne) {
  std::set<std::uint8_t> found;
  for (auto scanner = scan_golden_file("every_message");;) {
    const auto item = scanner.next();
    if (std::holds_alternative<frame::End>(item)) break;
    found.insert(std::get<frame::ScannedFrame>(item).frame.header.type);
  }
  for (int type = 0; type < 256; ++type) {
    const auto number = static_cast<std::uint8_t>(type);
    EXPECT_EQ(found.contains(number), frame::type_name(number).has_value()) << type;
  }
}

// ---- what JSON cannot say ----

TEST(GoldenFiles, NanPayloadsSurvive) {
  const auto messages = decode_golden_file("edge_values");
  const auto& rows = dynamic_cast<const v1::Log&>(*messages.at(1)).rows(0);
  std::vector<std::uint32_t> float_bits;
  for (const float value : rows.columns(0).float_values()) float_bits.push_back(std::bit_cast<std::uint32_t>(value));
  EXPECT_EQ(float_bits, (std::vector<std::uint32_t>{0x7FC00001, 0xFFC00000, 0x7F800001, 0x7F800000, 0xFF800000,
                                                    0x80000000, 0x00000001, 0x3DCCCCCD}));
}

TEST(GoldenFiles, NanPayloadsOfDoublesSurvive) {
  const auto messages = decode_golden_file("edge_values");
  const auto& rows = dynamic_cast<const v1::Log&>(*messages.at(1)).rows(0);
  std::vector<std::uint64_t> bits;
  for (const double value : rows.columns(1).double_values()) bits.push_back(std::bit_cast<std::uint64_t>(value));
  EXPECT_EQ(bits, (std::vector<std::uint64_t>{0x7FF8000000000001, 0xFFF8000000000000, 0x7FF0000000000001,
                                              0x7FF0000000000000, 0xFFF0000000000000, 0x8000000000000000,
                                              0x0000000000000001, 0x7FEFFFFFFFFFFFFF}));
}

TEST(GoldenFiles, CompressedBatchUnpacksToItsRawBytes) {
  const auto messages = decode_golden_file("edge_values");
  const auto& log = dynamic_cast<const v1::Log&>(*messages.at(4));
  std::string raw(log.raw_bytes(), '\0');
  EXPECT_EQ(ZSTD_decompress(raw.data(), raw.size(), log.zstd_batch().data(), log.zstd_batch().size()), raw.size());
}

TEST(GoldenFiles, CompressedBatchHoldsRows) {
  const auto messages = decode_golden_file("edge_values");
  const auto& log = dynamic_cast<const v1::Log&>(*messages.at(4));
  std::string raw(log.raw_bytes(), '\0');
  (void)ZSTD_decompress(raw.data(), raw.size(), log.zstd_batch().data(), log.zstd_batch().size());
  v1::Log batch;
  ASSERT_TRUE(batch.ParseFromString(raw));
  EXPECT_EQ(batch.rows(0).row_count(), 64U);
}

// ---- seals ----

std::size_t seal_bytes_of(const std::string& name) {
  const auto path = std::filesystem::path(SIDEBAND_SOURCE_DIR) / "tests/golden" / (name + ".frames");
  return frame::read_seal(path).value().size();
}

TEST(GoldenFiles, SealedSegmentHasItsSeal) {
  const auto messages = decode_golden_file("collector_log");
  EXPECT_EQ(seal_bytes_of("collector_log"), dynamic_cast<const v1::Seal&>(*messages.back()).seal_bytes());
}

TEST(GoldenFiles, OpenSegmentHasNoSeal) {
  EXPECT_EQ(seal_bytes_of("spool_segment"), 0U);
}

TEST(GoldenFiles, DamagedSegmentHasNoSeal) {
  EXPECT_EQ(seal_bytes_of("damaged"), 0U);
}

}  // namespace
}  // namespace sideband::golden
