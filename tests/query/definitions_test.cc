#include "collector/query/definitions.h"

#include <gtest/gtest.h>

#include "tests/query/stored_frames.h"

namespace sideband::collector {
namespace {

v1::Log defining_log() {
  v1::Log log;
  test::define(log);
  return log;
}

TEST(Definitions, KeyIsFoundByItsId) {
  Definitions definitions;
  EXPECT_EQ(definitions.add(defining_log()), 0U);
  ASSERT_NE(definitions.find_key(1), nullptr);
  EXPECT_EQ(*definitions.find_key(1), "tokens");
}

TEST(Definitions, UndefinedIdsAreNotFound) {
  const Definitions definitions;
  EXPECT_EQ(definitions.find_key(0), nullptr);
  EXPECT_EQ(definitions.find_table(0), nullptr);
}

TEST(Definitions, RepeatedDefinitionsAreNoContradiction) {
  Definitions definitions;
  definitions.add(defining_log());
  EXPECT_EQ(definitions.add(defining_log()), 0U);
}

TEST(Definitions, ContradictingKeyIsRefusedAndTheFirstStays) {
  Definitions definitions;
  definitions.add(defining_log());
  v1::Log other;
  other.add_keys()->set_key("another");
  EXPECT_EQ(definitions.add(other), 1U);
  EXPECT_EQ(*definitions.find_key(0), "train/loss");
}

TEST(Definitions, ContradictingTableIsRefusedAndTheFirstStays) {
  Definitions definitions;
  definitions.add(defining_log());
  v1::Log other;
  other.add_tables()->add_key_ids(5);
  EXPECT_EQ(definitions.add(other), 1U);
  EXPECT_EQ(definitions.find_table(0)->key_ids.size(), 2U);
}

TEST(Definitions, KindsAreFloatUnlessNamed) {
  Definitions definitions;
  v1::Log log;
  log.add_tables()->add_key_ids(3);
  definitions.add(log);
  EXPECT_EQ(definitions.find_table(0)->kinds, std::vector{v1::VALUE_KIND_FLOAT});
}

TEST(Definitions, TableWithTooFewKindsIsRefused) {
  Definitions definitions;
  v1::Log log;
  auto* table = log.add_tables();
  table->add_key_ids(0);
  table->add_key_ids(1);
  table->add_kinds(v1::VALUE_KIND_INT);
  EXPECT_EQ(definitions.add(log), 1U);
}

TEST(Definitions, TableOfAnUnknownKindIsRefused) {
  Definitions definitions;
  v1::Log log;
  auto* table = log.add_tables();
  table->add_key_ids(0);
  table->add_kinds(static_cast<v1::ValueKind>(9));
  EXPECT_EQ(definitions.add(log), 1U);
}

TEST(Definitions, KeysOfNoOrTooManyBytesAreRefused) {
  Definitions definitions;
  v1::Log log;
  log.add_keys()->set_key("");
  log.add_keys()->set_key(std::string(kMaxKeyBytes + 1, 'x'));
  EXPECT_EQ(definitions.add(log), 2U);
}

TEST(Definitions, HugeIdsCostNoMoreThanSmallOnes) {
  Definitions definitions;
  v1::Log log;
  auto* key = log.add_keys();
  key->set_key_id(0xFFFFFFFF);
  key->set_key("far");
  EXPECT_EQ(definitions.add(log), 0U);
  EXPECT_EQ(*definitions.find_key(0xFFFFFFFF), "far");
}

}  // namespace
}  // namespace sideband::collector
