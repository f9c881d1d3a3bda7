#include "collector/query/log_decoder.h"

#include <gtest/gtest.h>
#include <zstd.h>

#include "tests/query/stored_frames.h"

namespace sideband::collector {
namespace {

std::string compress(const std::string& raw) {
  std::string packed(ZSTD_compressBound(raw.size()), '\0');
  packed.resize(ZSTD_compress(packed.data(), packed.size(), raw.data(), raw.size(), 3));
  return packed;
}

v1::Log packed_log(const std::string& raw) {
  v1::Log log = test::make_log(7, 2);
  log.set_zstd_batch(compress(raw));
  log.set_raw_bytes(static_cast<std::uint32_t>(raw.size()));
  return log;
}

Result<void> decode(const v1::Log& log, v1::Log& decoded) {
  const std::string payload = log.SerializeAsString();
  return decode_log(std::as_bytes(std::span(payload)), decoded);
}

std::string error_of(const v1::Log& log) {
  v1::Log decoded;
  const auto result = decode(log, decoded);
  return result ? "no error" : result.error().message;
}

TEST(LogDecoder, PlainLogIsTakenAsItIs) {
  v1::Log log = test::make_log(7, 2);
  test::define(log);
  v1::Log decoded;
  ASSERT_TRUE(decode(log, decoded));
  EXPECT_EQ(decoded.SerializeAsString(), log.SerializeAsString());
}

TEST(LogDecoder, BatchFollowsTheMessagesOwnFields) {
  v1::Log inner;
  inner.add_text()->set_text("second");
  v1::Log log = packed_log(inner.SerializeAsString());
  log.add_text()->set_text("first");
  v1::Log decoded;
  ASSERT_TRUE(decode(log, decoded));
  ASSERT_EQ(decoded.text_size(), 2);
  EXPECT_EQ(decoded.text(1).text(), "second");
}

TEST(LogDecoder, BatchCannotChangeTheIdentity) {
  v1::Log inner;
  inner.set_stream_id(99);
  inner.set_seq(99);
  v1::Log decoded;
  ASSERT_TRUE(decode(packed_log(inner.SerializeAsString()), decoded));
  EXPECT_EQ(decoded.seq(), 2U);
}

TEST(LogDecoder, RawBytesOverTheLimitAreRefused) {
  v1::Log log = packed_log("");
  log.set_raw_bytes(kMaxRawBytes + 1);
  EXPECT_NE(error_of(log).find("expected raw_bytes of at most 4194304, found 4194305"), std::string::npos);
}

TEST(LogDecoder, BatchOfExactlyTheLimitIsTaken) {
  v1::Log inner;
  inner.add_text()->set_text(std::string(kMaxRawBytes - 10, 'x'));  // 10: two tags and lengths of 4 bytes each
  ASSERT_EQ(inner.ByteSizeLong(), kMaxRawBytes);
  v1::Log decoded;
  EXPECT_TRUE(decode(packed_log(inner.SerializeAsString()), decoded));
}

TEST(LogDecoder, BatchThatUnpacksToMoreThanItSaysIsRefused) {
  v1::Log log = packed_log(std::string(1000, '\0'));
  log.set_raw_bytes(999);
  EXPECT_NE(error_of(log).find("bad zstd_batch"), std::string::npos);
}

TEST(LogDecoder, BatchThatUnpacksToLessThanItSaysIsRefused) {
  v1::Log log = packed_log("");
  log.set_raw_bytes(1);
  EXPECT_NE(error_of(log).find("expected 1 bytes of raw data, found 0"), std::string::npos);
}

TEST(LogDecoder, BatchThatIsNoZstdIsRefused) {
  v1::Log log = test::make_log(7, 2);
  log.set_zstd_batch("rubbish");
  log.set_raw_bytes(10);
  EXPECT_NE(error_of(log).find("bad zstd_batch"), std::string::npos);
}

TEST(LogDecoder, BatchInABatchIsRefused) {
  EXPECT_NE(error_of(packed_log(packed_log("").SerializeAsString())).find("holds another zstd_batch"),
            std::string::npos);
}

TEST(LogDecoder, PayloadThatIsNoMessageIsRefused) {
  const std::string payload = "\x0a\xff";
  v1::Log decoded;
  EXPECT_FALSE(decode_log(std::as_bytes(std::span(payload)), decoded));
}

TEST(LogDecoder, PointsAreCountedInEveryColumn) {
  v1::Log log = test::make_log(7, 2);
  test::add_rows(log, 0, {1, 2, 3});
  test::add_rows(log, 3, {4});
  EXPECT_EQ(count_points(log), 8U);
}

}  // namespace
}  // namespace sideband::collector
