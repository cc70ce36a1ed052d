#include "runtime/bpe_model.h"

#include <gtest/gtest.h>

#include "runtime/gguf_bytes.h"

namespace bessemer {
namespace {

using testing::GgufBytes;

GgufBytes vocabulary(const std::vector<std::string>& tokens,
                     const std::vector<std::string>& merges) {
  GgufBytes f;
  f.header(0, 2).strings("tokenizer.ggml.tokens", tokens).strings("tokenizer.ggml.merges", merges);
  return f;
}

Result<std::string> json_of(const GgufBytes& file) {
  const auto index = GgufIndex::parse(file.span());
  EXPECT_TRUE(index.ok());
  return bpe_tokenizer_json(*index, true);
}

TEST(BpeModel, EscapesWhatJsonMustEscape) {
  const auto json = json_of(vocabulary({"a", "\"", "\\", "\n", "\xC3\xA9", "a\""}, {"a \""}));
  ASSERT_TRUE(json.ok()) << json.error().to_string();
  EXPECT_NE(json->find(R"("ignore_merges":true,"vocab":{"a":0,"\"":1,"\\":2,"\u000a":3,"é":4,)"
                       R"("a\"":5},"merges":["a \""]}})"),
            std::string::npos)
      << *json;
}

TEST(BpeModel, RefusesWhatIsNotAVocabulary) {
  const std::pair<GgufBytes, std::string> cases[] = {
      {GgufBytes().header(0, 0), "tokens` is missing"},
      {GgufBytes().header(0, 1).strings("tokenizer.ggml.tokens", {"a"}), "merges` is missing"},
      {vocabulary({"a", "b", "a"}, {}), "the tokens 0 and 2 have the same text `a`"},
      {vocabulary({"a", "\xFF"}, {}), "the text of token 1 is not UTF-8"},
      {vocabulary({"a", "b", "ab"}, {"a b", "ab"}), "merge 1 of `tokenizer.ggml.merges` is `ab`"},
      {vocabulary({"a", "b", "ab"}, {"b a"}), "merge 0 of"},
      {vocabulary({"a", "b", "ab"}, {"a b "}), "merge 0 of"},
  };
  for (const auto& [file, expected] : cases) {
    const auto json = json_of(file);
    ASSERT_FALSE(json.ok()) << expected;
    EXPECT_EQ(json.error().kind, ErrorKind::kParse);
    EXPECT_NE(json.error().to_string().find(expected), std::string::npos)
        << json.error().to_string();
  }
}

}  // namespace
}  // namespace bessemer
