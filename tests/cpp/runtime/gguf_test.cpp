#include "runtime/gguf.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "runtime/gguf_bytes.h"

namespace bessemer {
namespace {

using testing::GgufBytes;

GgufBytes small_file() {
  GgufBytes f;
  f.header(2, 5)
      .string("general.architecture", "llama")
      .u32("llama.block_count", 30)
      .strings("tokens", {"a", "", "\xC4\xA0t"})
      .array<float>("scores", 6, {0.F, -1.5F})
      .text("flag")
      .put<uint32_t>(7)
      .put<uint8_t>(1);
  f.tensor("w", {64, 3}, 3, 0).tensor("b", {3}, 0, 128).pad(32, 128 + 12);
  return f;
}

// The error's kind and a part of its message.
void expect_error(const GgufBytes& file, ErrorKind kind, std::string_view part) {
  const auto index = GgufIndex::parse(file.span());
  ASSERT_FALSE(index.ok()) << part;
  EXPECT_EQ(index.error().kind, kind) << index.error().message;
  EXPECT_NE(index.error().to_string().find(part), std::string::npos) << index.error().to_string();
}

TEST(Gguf, ReadsMetadataAndTensorsInPlace) {
  const GgufBytes file = small_file();
  const auto index = GgufIndex::parse(file.span());
  ASSERT_TRUE(index.ok()) << index.error().to_string();
  EXPECT_EQ(index->version(), 3U);
  EXPECT_EQ(index->alignment(), 32U);
  EXPECT_EQ(*index->find("general.architecture")->as_string(), "llama");
  EXPECT_EQ(*index->find("llama.block_count")->as_int(), 30);
  EXPECT_TRUE(*index->find("flag")->as_bool());
  EXPECT_EQ(index->find("absent"), nullptr);
  const GgufStrings tokens(*index->find("tokens"));
  ASSERT_EQ(tokens.size(), 3U);
  EXPECT_EQ(tokens[0], "a");
  EXPECT_EQ(tokens[1], "");
  EXPECT_EQ(tokens[2], "\xC4\xA0t");

  const GgufTensor* w = index->find_tensor("w");
  ASSERT_NE(w, nullptr);
  EXPECT_EQ(w->dtype, DType::kQ4_1);
  ASSERT_EQ(w->rank, 2U);
  EXPECT_EQ(w->sizes[0], 3);  // rows first, whatever the file's order
  EXPECT_EQ(w->sizes[1], 64);
  EXPECT_EQ(w->bytes, 3U * 2 * 20);
  EXPECT_EQ(w->offset % 32, 0U);
  EXPECT_EQ(index->find_tensor("b")->offset, w->offset + 128);
  EXPECT_EQ(index->find_tensor("b")->offset + 12, file.size());
}

TEST(Gguf, ReadsEveryScalarType) {
  GgufBytes f;
  f.header(0, 11);
  f.text("u8").put<uint32_t>(0).put<uint8_t>(255);
  f.text("i8").put<uint32_t>(1).put<int8_t>(-128);
  f.text("u16").put<uint32_t>(2).put<uint16_t>(65535);
  f.text("i16").put<uint32_t>(3).put<int16_t>(-32768);
  f.text("u32").put<uint32_t>(4).put<uint32_t>(4294967295U);
  f.text("i32").put<uint32_t>(5).put<int32_t>(-7);
  f.text("f32").put<uint32_t>(6).put<float>(0.5F);
  f.text("u64").put<uint32_t>(10).put<uint64_t>(uint64_t{1} << 63);
  f.text("i64").put<uint32_t>(11).put<int64_t>(-9);
  f.text("f64").put<uint32_t>(12).put<double>(0.1);
  f.text("s").put<uint32_t>(8).text("");
  const auto index = GgufIndex::parse(f.span());
  ASSERT_TRUE(index.ok()) << index.error().to_string();
  EXPECT_EQ(*index->find("u8")->as_int(), 255);
  EXPECT_EQ(*index->find("i8")->as_int(), -128);
  EXPECT_EQ(*index->find("u16")->as_int(), 65535);
  EXPECT_EQ(*index->find("i16")->as_int(), -32768);
  EXPECT_EQ(*index->find("u32")->as_int(), 4294967295);
  EXPECT_EQ(*index->find("i32")->as_int(), -7);
  EXPECT_EQ(*index->find("i64")->as_int(), -9);
  EXPECT_EQ(*index->find("f32")->as_float(), 0.5);
  EXPECT_EQ(*index->find("f64")->as_float(), 0.1);
  EXPECT_EQ(*index->find("s")->as_string(), "");
  // Nothing is narrowed or converted behind the caller's back.
  EXPECT_FALSE(index->find("u64")->as_int().ok());
  EXPECT_FALSE(index->find("f32")->as_int().ok());
  EXPECT_FALSE(index->find("u8")->as_float().ok());
  EXPECT_FALSE(index->find("u8")->as_bool().ok());
  EXPECT_FALSE(index->find("u8")->as_string().ok());
}

TEST(Gguf, AFileCutAnywhereIsAnError) {
  const GgufBytes file = small_file();
  for (size_t size = 0; size < file.size(); ++size) {
    const auto index = GgufIndex::parse(file.span().first(size));
    ASSERT_FALSE(index.ok()) << size;
    EXPECT_EQ(index.error().kind, ErrorKind::kParse) << size << ": " << index.error().message;
  }
}

TEST(Gguf, AnyByteMayBeAnythingWithoutHarm) {
  const GgufBytes good = small_file();
  std::mt19937 random(1);
  std::vector<std::byte> bytes(good.span().begin(), good.span().end());
  for (int round = 0; round < 20000; ++round) {
    const size_t at = random() % bytes.size();
    const std::byte before = bytes[at];
    bytes[at] = static_cast<std::byte>(random());
    if (const auto index = GgufIndex::parse(bytes); index.ok()) {
      for (const GgufTensor& t : index->tensors()) {
        ASSERT_LE(t.offset + t.bytes, bytes.size());
      }
    }
    bytes[at] = before;
  }
}

TEST(Gguf, OtherMagicsAndVersionsAreNamed) {
  expect_error(GgufBytes().raw("GGML").put<uint32_t>(3), ErrorKind::kParse, "47 47 4d 4c");
  expect_error(GgufBytes().header(0, 0, 1), ErrorKind::kUnsupported, "version 1; expected 2 or 3");
  expect_error(GgufBytes().header(0, 0, 4), ErrorKind::kUnsupported, "version 4");
  expect_error(GgufBytes().header(0, 0, 0), ErrorKind::kUnsupported, "version 0");
  expect_error(GgufBytes().header(0, 0, 3U << 24), ErrorKind::kUnsupported, "big endian");
  EXPECT_TRUE(GgufIndex::parse(GgufBytes().header(0, 0, 2).span()).ok());
}

TEST(Gguf, HugeCountsAreRefusedBeforeAnythingIsAllocated) {
  constexpr uint64_t kHuge = ~uint64_t{0};
  expect_error(GgufBytes().header(kHuge, 0), ErrorKind::kParse, "tensors");
  expect_error(GgufBytes().header(0, kHuge), ErrorKind::kParse, "metadata entries");
  expect_error(GgufBytes().header(0, 1).put<uint64_t>(kHuge).pad(64), ErrorKind::kParse, "key");
  for (const uint32_t type : {0U, 6U, 7U, 8U, 12U}) {
    GgufBytes f;
    f.header(0, 1).text("k").put<uint32_t>(9).put<uint32_t>(type).put<uint64_t>(kHuge).pad(64);
    expect_error(f, ErrorKind::kParse, "`k` claims 18446744073709551615 elements");
  }
  GgufBytes inner;
  inner.header(0, 1).text("k").put<uint32_t>(9).put<uint32_t>(8).put<uint64_t>(2);
  inner.text("fine").put<uint64_t>(kHuge);
  expect_error(inner, ErrorKind::kParse, "element 1 of metadata `k`");
}

TEST(Gguf, MalformedMetadataIsNamed) {
  expect_error(GgufBytes().header(0, 1).text("k").put<uint32_t>(13).pad(64), ErrorKind::kParse,
               "`k` has unknown type 13");
  expect_error(GgufBytes().header(0, 1).text("k").put<uint32_t>(7).put<uint8_t>(2).pad(64),
               ErrorKind::kParse, "bool of value 2");
  expect_error(GgufBytes().header(0, 2).u32("k", 1).u32("k", 2), ErrorKind::kParse,
               "`k` occurs twice");
  expect_error(GgufBytes().header(0, 1).u32("", 1), ErrorKind::kParse, "is empty");
  expect_error(GgufBytes().header(0, 1).u32("\xC0\xAF", 1), ErrorKind::kParse, "not UTF-8");
  GgufBytes nested;
  nested.header(0, 1).text("k").put<uint32_t>(9).put<uint32_t>(9).put<uint64_t>(1).pad(64);
  expect_error(nested, ErrorKind::kUnsupported, "array of arrays");
  for (const uint32_t bad : {0U, 4U, 24U, 1U << 31}) {
    expect_error(GgufBytes().header(0, 1).u32("general.alignment", bad), ErrorKind::kParse,
                 "power of two");
  }
  expect_error(GgufBytes().header(0, 1).string("general.alignment", "32"), ErrorKind::kParse,
               "expected an integer, found string");
}

TEST(Gguf, UnknownTensorTypesAreNamed) {
  expect_error(GgufBytes().header(1, 0).tensor("t", {256}, 20, 0).pad(32, 144),
               ErrorKind::kUnsupported, "`t` has type IQ4_NL (20)");
  expect_error(GgufBytes().header(1, 0).tensor("t", {256}, 777, 0).pad(32, 144),
               ErrorKind::kUnsupported, "`t` has type 777");
}

TEST(Gguf, TensorsOutsideTheFileAreRefused) {
  constexpr uint64_t kTop = ~uint64_t{0} - 31;  // a multiple of the alignment
  expect_error(GgufBytes().header(1, 0).tensor("t", {8}, 0, 0).pad(32, 31), ErrorKind::kParse,
               "past the end");
  expect_error(GgufBytes().header(1, 0).tensor("t", {8}, 0, kTop).pad(32, 32), ErrorKind::kParse,
               "past the end");
  expect_error(GgufBytes().header(1, 0).tensor("t", {8}, 0, 4).pad(32, 64), ErrorKind::kParse,
               "multiple of 32");
  expect_error(GgufBytes().header(1, 0).tensor("t", {uint64_t{1} << 32, uint64_t{1} << 32}, 0, 0),
               ErrorKind::kParse, "63 bits");
  expect_error(GgufBytes().header(1, 0).tensor("t", {uint64_t{1} << 62}, 0, 0), ErrorKind::kParse,
               "64 bits");
  expect_error(GgufBytes().header(1, 0).tensor("t", {8, 0}, 0, 0), ErrorKind::kParse,
               "dimension of 0");
  expect_error(GgufBytes().header(1, 0).tensor("t", {1, 1, 1, 1, 1}, 0, 0), ErrorKind::kParse,
               "5 dimensions");
  expect_error(GgufBytes().header(1, 0).tensor("t", {48, 2}, 2, 0).pad(32, 64), ErrorKind::kParse,
               "rows of 48 elements");
  expect_error(GgufBytes().header(2, 0).tensor("t", {8}, 0, 0).tensor("t", {8}, 0, 32).pad(32, 64),
               ErrorKind::kParse, "`t` occurs twice");
}

TEST(Gguf, HonoursTheAlignmentOfTheFile) {
  GgufBytes f;
  f.header(2, 1).u32("general.alignment", 256);
  f.tensor("a", {3}, 0, 0).tensor("b", {2, 2}, 1, 256).pad(256, 256 + 8);
  const auto index = GgufIndex::parse(f.span());
  ASSERT_TRUE(index.ok()) << index.error().to_string();
  EXPECT_EQ(index->find_tensor("a")->offset % 256, 0U);
  EXPECT_EQ(index->find_tensor("b")->offset + 8, f.size());
}

TEST(Gguf, OpenNamesThePathInItsErrors) {
  const std::string path = ::testing::TempDir() + "bessemer_not_gguf";
  FILE* out = std::fopen(path.c_str(), "wb");
  ASSERT_NE(out, nullptr);
  std::fputs("hello, world", out);
  std::fclose(out);
  const auto file = GgufFile::open(path);
  std::remove(path.c_str());
  ASSERT_FALSE(file.ok());
  EXPECT_EQ(file.error().kind, ErrorKind::kParse);
  EXPECT_NE(file.error().to_string().find(path), std::string::npos);
}

}  // namespace
}  // namespace bessemer
