// `sideband dump --json` of the golden files says what their generator wrote beside them.
#include <fstream>
#include <iterator>
#include <map>
#include <memory>

#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "proto/sideband.pb.h"
#include "tests/tools/lines.h"
#include "tests/tools/program.h"

namespace sideband::test {
namespace {

using Json = nlohmann::json;

std::string golden_path(const std::string& name) {
  return std::string(SIDEBAND_SOURCE_DIR) + "/tests/golden/" + name;
}

// Two JSON texts of one message may write a number in different ways ("0.1" and "0.10000000149011612" are one float),
// so messages are compared as the bytes that they stand for.
std::string message_bytes(const std::string& type, const std::string& message) {
  static const std::map<std::string, std::string> kNames = {{"LOG", "Log"},
                                                            {"CONFIG", "Config"},
                                                            {"SKIP", "Skip"},
                                                            {"END", "End"},
                                                            {"SYN", "Syn"},
                                                            {"ACK", "Ack"},
                                                            {"PING", "Ping"},
                                                            {"PONG", "Pong"},
                                                            {"CREDIT", "Credit"},
                                                            {"COMMIT", "Commit"},
                                                            {"FIN", "Fin"},
                                                            {"BYE", "Bye"},
                                                            {"FILE", "File"},
                                                            {"ERROR", "ErrorReport"},
                                                            {"BLOB", "Blob"},
                                                            {"SEAL", "Seal"},
                                                            {"SERIES", "Series"},
                                                            {"BLOB_COMMIT", "BlobCommit"},
                                                            {"SUBSCRIBE", "Subscribe"}};
  const auto* descriptor = v1::Log::descriptor()->file()->FindMessageTypeByName(kNames.at(type));
  const std::unique_ptr<google::protobuf::Message> parsed(
      google::protobuf::MessageFactory::generated_factory()->GetPrototype(descriptor)->New());
  const auto status = google::protobuf::util::JsonStringToMessage(message, parsed.get());
  EXPECT_TRUE(status.ok()) << status.ToString();
  return parsed->SerializeAsString();
}

// The text of the last field. protobuf writes negative zero as -0, and reads that as an integer without a sign.
std::string message_text(const std::string& line) {
  const std::string name = "\"message\":";
  const std::size_t begin = line.find(name) + name.size();
  std::string text = line.substr(begin, line.rfind('}') - begin);
  for (const std::string zero : {" -0.0,", " -0.0]", " -0.0}"}) {
    for (std::size_t at = text.find(zero); at != std::string::npos; at = text.find(zero)) text.replace(at, 5, " -0");
  }
  return text;
}

void expect_same(const std::string& actual_line, const std::string& expected_line) {
  Json actual = Json::parse(actual_line);
  Json expected = Json::parse(expected_line);
  if (expected.contains("message") && !expected["message"].is_null()) {
    ASSERT_FALSE(actual["message"].is_null()) << actual_line;
    EXPECT_EQ(message_bytes(actual["type"], message_text(actual_line)),
              message_bytes(expected["type"], message_text(expected_line)))
        << actual_line;
    actual.erase("message");
    expected.erase("message");
  }
  EXPECT_EQ(actual, expected);
}

class DumpGoldenTest : public testing::TestWithParam<const char*> {};

TEST_P(DumpGoldenTest, SaysWhatTheGeneratorWrote) {
  const auto actual = lines_of(run_sideband({"dump", "--json", golden_path(std::string(GetParam()) + ".frames")}).out);
  std::ifstream file(golden_path(std::string(GetParam()) + ".json"));
  const auto expected = lines_of({std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()});
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i) expect_same(actual[i], expected[i]);
}

INSTANTIATE_TEST_SUITE_P(Files, DumpGoldenTest,
                         testing::Values("collector_log", "damaged", "edge_values", "every_message", "format_example",
                                         "spool_segment"),
                         [](const auto& instance) { return std::string(instance.param); });

}  // namespace
}  // namespace sideband::test
