#include "sender/names.h"

#include <string>

#include <gtest/gtest.h>

#include "sender/shape_cache.h"

namespace sideband::sender {
namespace {

class NamesTest : public testing::Test {
 protected:
  std::uint32_t add(std::vector<std::string_view> keys) {
    return add(keys, std::vector<ValueKind>(keys.size(), ValueKind::kFloat));
  }
  std::uint32_t add(const std::vector<std::string_view>& keys, const std::vector<ValueKind>& kinds) {
    return names_.shape(keys, kinds);
  }
  const Shape& shape(std::uint32_t id) { return *names_.shapes_since(id).at(0); }
  void fill_tables() {
    std::vector<std::string> keys;
    for (std::size_t i = 0; i <= kMaxWideTables; ++i) keys.push_back("key" + std::to_string(i));
    for (std::size_t i = 0; i < kMaxWideTables; ++i) add({keys[i], keys[i + 1]});
  }

  Names names_;
};

TEST_F(NamesTest, SameKeysAreOneShape) {
  EXPECT_EQ(add({"a", "b"}), add({"a", "b"}));
}
TEST_F(NamesTest, OrderMakesAnotherShape) {
  EXPECT_NE(add({"a", "b"}), add({"b", "a"}));
}
TEST_F(NamesTest, KindMakesAnotherShape) {
  EXPECT_NE(add({"a"}, {ValueKind::kFloat}), add({"a"}, {ValueKind::kInt}));
}
TEST_F(NamesTest, BordersBetweenKeysCount) {
  EXPECT_NE(add({"ab", "c"}), add({"a", "bc"}));
}

TEST_F(NamesTest, KeysAreSharedByShapes) {
  add({"a", "b"});
  add({"b", "c"});
  EXPECT_EQ(names_.key_count(), 3U);
}

TEST_F(NamesTest, DefinitionsSinceBringOnlyTheNew) {
  add({"a"});
  add({"b"});
  const Definitions definitions = names_.definitions_since(1, 1);
  EXPECT_TRUE(definitions.keys.size() == 1 && definitions.keys[0] == "b" &&
              definitions.tables.at(0)->key_ids.at(0) == 1);
}

TEST_F(NamesTest, LongestKeyIsValid) {
  EXPECT_TRUE(is_valid_key(std::string(512, 'k')));
}
TEST_F(NamesTest, LongerKeyIsInvalid) {
  EXPECT_FALSE(is_valid_key(std::string(513, 'k')));
}
TEST_F(NamesTest, EmptyKeyIsInvalid) {
  EXPECT_FALSE(is_valid_key(""));
}
TEST_F(NamesTest, KeyThatIsNotUtf8IsInvalid) {
  EXPECT_FALSE(is_valid_key("\xC3"));
}

TEST_F(NamesTest, InvalidKeySplitsTheShapeAroundIt) {
  const Shape& split = shape(add({"a", "", "b", "c"}));
  ASSERT_EQ(split.parts.size(), 2U);
  EXPECT_TRUE(split.invalid == 1 && split.parts[1].first == 2 && split.parts[1].width == 2);
}

TEST_F(NamesTest, RepeatedKeyIsInvalid) {
  EXPECT_EQ(shape(add({"a", "b", "a"})).invalid, 1U);
}

TEST_F(NamesTest, WideRowIsSeveralShapesInARow) {
  std::vector<std::string> keys;
  for (std::size_t i = 0; i < kMaxRowKeys + 10; ++i) keys.push_back("key" + std::to_string(i));
  const std::uint32_t first = add({keys.begin(), keys.end()});
  EXPECT_EQ(shape(first + 1).width, 10U);
}

TEST_F(NamesTest, WideTablesAreBounded) {
  fill_tables();
  EXPECT_EQ(shape(add({"x", "y"})).parts.size(), 2U);
}

TEST_F(NamesTest, FullIsSaid) {
  const bool before = names_.is_full();
  fill_tables();
  EXPECT_TRUE(!before && names_.is_full());
}

TEST_F(NamesTest, KnownTableStaysWholeWhenFull) {
  fill_tables();
  EXPECT_EQ(shape(add({"key0", "", "x"})).parts.size() + shape(add({"key0", "key1", ""})).parts.size(), 3U);
}

class ShapeCacheTest : public testing::Test {
 protected:
  ShapeCache cache_;
};

TEST_F(ShapeCacheTest, UnknownSetIsNotFound) {
  const std::vector<Field> fields = {{"a", 1.0}};
  EXPECT_EQ(cache_.find(fields), kNoShape);
}

TEST_F(ShapeCacheTest, SetIsFoundByItsTextWhereverItLies) {
  const std::vector<Field> fields = {{"loss", 1.0}, {"tokens", 1}};
  cache_.add(fields, 7);
  const std::string loss = "loss", tokens = "tokens";
  const std::vector<Field> same = {{loss, 2.0}, {tokens, 2}};
  EXPECT_EQ(cache_.find(same), 7U);
}

TEST_F(ShapeCacheTest, AnotherKindIsNotFound) {
  const std::vector<Field> fields = {{"loss", 1.0}}, other = {{"loss", 1}};
  cache_.add(fields, 7);
  EXPECT_EQ(cache_.find(other), kNoShape);
}

TEST_F(ShapeCacheTest, KeysThatDifferOnlyInTheMiddleAreToldApart) {
  const std::vector<Field> fields = {{"0123456789-a-0123456789", 1.0}}, other = {{"0123456789-b-0123456789", 1.0}};
  cache_.add(fields, 7);
  cache_.add(other, 8);
  EXPECT_TRUE(cache_.find(fields) == 7 && cache_.find(other) == 8);
}

TEST_F(ShapeCacheTest, PrefixOfASetIsNotFound) {
  const std::vector<Field> fields = {{"a", 1.0}, {"b", 1.0}};
  cache_.add(fields, 7);
  EXPECT_EQ(cache_.find(std::span(fields).first(1)), kNoShape);
}

TEST_F(ShapeCacheTest, ManySetsAreFound) {
  std::vector<std::string> keys;
  for (int i = 0; i < 1'000; ++i) keys.push_back("key" + std::to_string(i));
  for (std::uint32_t i = 0; i < 1'000; ++i) cache_.add(std::vector<Field>{{keys[i], 1.0}}, i);
  for (std::uint32_t i = 0; i < 1'000; ++i) ASSERT_EQ(cache_.find(std::vector<Field>{{keys[i], 1.0}}), i);
}

TEST(NamesInAChild, ShapesKeepTheirNumbers) {
  Names parents;
  const std::vector<std::string_view> pair = {"a", "b"}, twice = {"c", "c"}, invalid = {""};
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < kMaxRowKeys + 1; ++i) texts.push_back("k" + std::to_string(i));
  const std::vector<std::string_view> wide(texts.begin(), texts.end());
  std::vector<std::uint32_t> shapes;
  const std::vector<std::vector<std::string_view>> all = {pair, wide, twice, invalid, {"last"}};
  for (const auto& keys : all) shapes.push_back(parents.shape(keys, std::vector(keys.size(), ValueKind::kInt)));
  const auto copy = Names::copy_in_child(parents);
  std::vector<std::uint32_t> copied;
  for (const auto& keys : all) copied.push_back(copy->shape(keys, std::vector(keys.size(), ValueKind::kInt)));
  EXPECT_EQ(std::pair(copied, copy->shapes_since(0).size()), std::pair(shapes, parents.shapes_since(0).size()));
}

TEST(NamesInAChild, NothingRegisteredIsAnEmptyCopy) {
  EXPECT_EQ(Names::copy_in_child(Names())->key_count(), 0U);
}

}  // namespace
}  // namespace sideband::sender
