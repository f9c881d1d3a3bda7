#include "sender/names_file.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>

#include "sender/names.h"
#include "sender/spool_bytes.h"
#include "tests/sender/temporary_folder.h"

namespace sideband::sender {
namespace {

class NamesFiles : public testing::Test {
 protected:
  void keep(const std::filesystem::path& file_path) {
    frame::FileDescriptor file(::open(file_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    written.keep_in(NamesFile::begin(std::move(file)));
  }
  void keep() { keep(path); }
  std::uint32_t register_row(std::vector<std::string_view> keys, ValueKind kind = ValueKind::kFloat) {
    return written.shape(keys, std::vector<ValueKind>(keys.size(), kind));
  }
  std::string bytes() const {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void read(const std::string& file) { read_names(as_bytes(file), found); }
  void read() { read(bytes()); }
  std::size_t shapes_found() const { return found.shapes_since(0).size(); }

  TemporaryFolder folder;
  std::filesystem::path path = folder.path() / "names";
  Names written, found;
};

TEST_F(NamesFiles, SetsComeBackInOrder) {
  keep();
  register_row({"a", "b"});
  register_row({"c"});
  read();
  const auto keys = found.definitions_since(0, 0).keys;
  EXPECT_EQ(std::string(keys[0]) + std::string(keys[1]) + std::string(keys[2]), "abc");
}

TEST_F(NamesFiles, ShapesGetTheSameNumbers) {
  keep();
  register_row({"a", "b"});
  const auto shape = register_row({"b", "a"});
  read();
  EXPECT_EQ(found.shape(std::vector<std::string_view>{"b", "a"}, std::vector(2, ValueKind::kFloat)), shape);
}

TEST_F(NamesFiles, KindsComeBack) {
  keep();
  register_row({"a"}, ValueKind::kInt);
  read();
  EXPECT_EQ(found.definitions_since(0, 0).tables[0]->kinds[0], ValueKind::kInt);
}

TEST_F(NamesFiles, InvalidKeysCountAsBefore) {
  keep();
  register_row({"a", "", "b", "a"});
  read();
  EXPECT_EQ(found.shapes_since(0)[0]->invalid, 2U);
}

TEST_F(NamesFiles, WideSetIsSeveralShapes) {
  keep();
  std::vector<std::string> texts;
  for (std::size_t i = 0; i <= kMaxRowKeys; ++i) texts.push_back("k" + std::to_string(i));
  register_row({texts.begin(), texts.end()});
  read();
  EXPECT_EQ(shapes_found(), 2U);
}

TEST_F(NamesFiles, SetsFromBeforeTheFileAreInIt) {
  register_row({"a"});
  register_row({"b"});
  keep();
  read();
  EXPECT_EQ(shapes_found(), 2U);
}

TEST_F(NamesFiles, TornSetIsTheEnd) {
  keep();
  register_row({"a"});
  register_row({"b"});
  read(bytes().substr(0, bytes().size() - 1));
  EXPECT_EQ(shapes_found(), 1U);
}

TEST_F(NamesFiles, DamagedSetIsTheEnd) {
  keep();
  register_row({"a"});
  register_row({"b"});
  std::string damaged = bytes();
  damaged.back() = 'c';
  read(damaged);
  EXPECT_EQ(shapes_found(), 1U);
}

TEST_F(NamesFiles, OtherFileIsEmpty) {
  read("something else altogether");
  EXPECT_EQ(shapes_found(), 0U);
}

TEST_F(NamesFiles, FullDiskIsNoticed) {
  keep("/dev/full");
  register_row({"a"});
  EXPECT_TRUE(written.is_file_full());
}

TEST_F(NamesFiles, ShapesWorkOnAFullDisk) {
  keep("/dev/full");
  EXPECT_NE(register_row({"a"}), kNoShape);
}

}  // namespace
}  // namespace sideband::sender
