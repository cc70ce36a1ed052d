#include "runtime/bpe_model.h"

#include <string_view>
#include <unordered_map>

namespace bessemer {
namespace {

constexpr std::string_view kPrefix = "tokenizer.ggml.";

Error malformed(std::string_view problem) {
  return {ErrorKind::kParse, "GGUF: " + std::string(problem), {}};
}

Result<GgufStrings> find_strings(const GgufIndex& index, std::string_view key) {
  const std::string full = std::string(kPrefix) + std::string(key);
  const GgufValue* value = index.find(full);
  if (value == nullptr) return malformed("metadata `" + full + "` is missing");
  if (value->type != GgufType::kArray || value->element != GgufType::kString) {
    return malformed("metadata `" + full + "` is not an array of strings");
  }
  return GgufStrings(*value);
}

// A JSON string: RFC 8259, section 7. Precondition: valid UTF-8.
void put_string(std::string& out, std::string_view text) {
  constexpr char kDigits[] = "0123456789abcdef";
  out += '"';
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20) {
      out += "\\u00";
      out += kDigits[byte >> 4];
      out += kDigits[byte & 15];
    } else {
      out += c;
    }
  }
  out += '"';
}

}  // namespace

Result<std::string> bpe_tokenizer_json(const GgufIndex& index, bool ignore_merges) {
  BSM_ASSIGN(const GgufStrings tokens, find_strings(index, "tokens"));
  BSM_ASSIGN(const GgufStrings merges, find_strings(index, "merges"));

  std::string out =
      R"({"version":"1.0","truncation":null,"padding":null,"added_tokens":[],"normalizer":null,)"
      R"("pre_tokenizer":null,"post_processor":null,"decoder":null,"model":{"type":"BPE",)"
      R"("dropout":null,"unk_token":null,"continuing_subword_prefix":null,)"
      R"("end_of_word_suffix":null,"fuse_unk":false,"byte_fallback":false,"ignore_merges":)";
  out += ignore_merges ? "true" : "false";
  out += R"(,"vocab":{)";
  std::unordered_map<std::string_view, size_t> ids;
  ids.reserve(tokens.size());
  for (size_t i = 0; i < tokens.size(); ++i) {
    const std::string_view text = tokens[i];
    if (!is_utf8(text)) {
      return malformed("the text of token " + std::to_string(i) + " is not UTF-8");
    }
    const auto [first, added] = ids.emplace(text, i);
    if (!added) {
      return malformed("the tokens " + std::to_string(first->second) + " and " + std::to_string(i) +
                       " have the same text `" + std::string(text) + "`");
    }
    if (i > 0) out += ',';
    put_string(out, text);
    out += ':';
    out += std::to_string(i);
  }
  out += R"(},"merges":[)";
  std::string joined;
  for (size_t rank = 0; rank < merges.size(); ++rank) {
    const std::string_view merge = merges[rank];
    const size_t space = merge.find(' ');
    const std::string_view left = merge.substr(0, space);
    const std::string_view right =
        space == std::string_view::npos ? std::string_view() : merge.substr(space + 1);
    joined.assign(left).append(right);
    if (ids.count(left) == 0 || ids.count(right) == 0 || ids.count(joined) == 0) {
      return malformed("merge " + std::to_string(rank) + " of `tokenizer.ggml.merges` is `" +
                       (is_utf8(merge) ? std::string(merge) : std::string("not UTF-8")) +
                       "`, expected two tokens, one space between, that make a third");
    }
    if (rank > 0) out += ',';
    put_string(out, merge);
  }
  out += "]}}";
  return out;
}

}  // namespace bessemer
