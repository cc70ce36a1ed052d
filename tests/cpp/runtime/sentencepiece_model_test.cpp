#include "runtime/sentencepiece_model.h"

#include <gtest/gtest.h>

#include <limits>

#include "runtime/gguf_bytes.h"

namespace bessemer {
namespace {

using testing::GgufBytes;

GgufBytes vocabulary(const std::vector<std::string>& tokens, const std::vector<float>& scores,
                     const std::vector<int32_t>& types) {
  GgufBytes f;
  f.header(0, 3)
      .strings("tokenizer.ggml.tokens", tokens)
      .array<float>("tokenizer.ggml.scores", 6, scores)
      .array<int32_t>("tokenizer.ggml.token_type", 5, types);
  return f;
}

Result<std::string> model_of(const GgufBytes& file) {
  const auto index = GgufIndex::parse(file.span());
  EXPECT_TRUE(index.ok());
  return sentencepiece_model(*index);
}

// Worked by hand from the wire format: piece message {1: text, 2: score, 3: type}, the trainer's
// {3: BPE, 4: 3 pieces, 35: no byte fallback, 40: unknown 0}, the normaliser's {1: name, 3..5}.
TEST(SentencePieceModel, IsTheWireFormOfTheVocabulary) {
  const auto model = model_of(vocabulary({"<unk>", "a b",
                                          "\xE2\x96\x81"
                                          "c"},
                                         {0.F, 0.F, -1.F}, {2, 4, 1}));
  ASSERT_TRUE(model.ok()) << model.error().to_string();
  const std::string expected = std::string("\x0A\x0E\x0A\x05<unk>\x15\0\0\0\0\x18\x02", 16) +
                               std::string(
                                   "\x0A\x0E\x0A\x05"
                                   "a\xE2\x96\x81"
                                   "b\x15\0\0\0\0\x18\x04",
                                   16) +
                               std::string(
                                   "\x0A\x0D\x0A\x04\xE2\x96\x81"
                                   "c\x15\0\0\x80\xBF\x18\x01",
                                   15) +
                               std::string("\x12\x0A\x18\x02\x20\x03\x98\x02\0\xC0\x02\0", 12) +
                               std::string("\x1A\x10\x0A\x08identity\x18\x01\x20\0\x28\x01", 18);
  EXPECT_EQ(*model, expected);
}

TEST(SentencePieceModel, RefusesWhatIsNotAVocabulary) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::pair<GgufBytes, std::string> cases[] = {
      {GgufBytes().header(0, 0), "tokens` is missing"},
      {vocabulary({}, {}, {}), "tokens` has 0 elements"},
      {vocabulary({"a", "b"}, {0.F}, {1, 1}), "scores` has 1 elements for 2 tokens"},
      {vocabulary({"a", "b"}, {0.F, 0.F}, {1}), "token_type` has 1 elements for 2 tokens"},
      {vocabulary({"a"}, {nan}, {1}), "not finite at token 0"},
      {vocabulary({"a"}, {0.F}, {9}), "unknown kind 9 at token 0"},
      {vocabulary({"<unk>", "<0x00>"}, {0.F, 0.F}, {2, 6}), "has 1 byte tokens"},
      {GgufBytes().header(0, 1).u32("tokenizer.ggml.tokens", 1), "not an array of string"},
  };
  for (const auto& [file, part] : cases) {
    const auto model = model_of(file);
    ASSERT_FALSE(model.ok()) << part;
    EXPECT_EQ(model.error().kind, ErrorKind::kParse);
    EXPECT_NE(model.error().message.find(part), std::string::npos) << model.error().message;
  }
}

}  // namespace
}  // namespace bessemer
