#include <fstream>
#include <iterator>

#include <google/protobuf/descriptor.pb.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/tools/program.h"

namespace sideband::test {
namespace {

TEST(Schema, TextIsTheProtoFile) {
  std::ifstream file(std::string(SIDEBAND_SOURCE_DIR) + "/proto/sideband.proto", std::ios::binary);
  const std::string expected{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  EXPECT_EQ(run_sideband({"schema"}).out, expected);
}

TEST(Schema, DescriptorSetCanBeParsed) {
  google::protobuf::FileDescriptorSet set;
  ASSERT_TRUE(set.ParseFromString(run_sideband({"schema", "--descriptor"}).out));
  ASSERT_EQ(set.file_size(), 1);
  EXPECT_EQ(set.file(0).package(), "sideband.v1");
}

TEST(Schema, JsonNamesThePackage) {
  const auto json = nlohmann::json::parse(run_sideband({"schema", "--json"}).out);
  EXPECT_EQ(json["file"][0]["package"], "sideband.v1");
}

}  // namespace
}  // namespace sideband::test
