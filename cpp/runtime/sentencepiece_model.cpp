#include "runtime/sentencepiece_model.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <string_view>
#include <utility>

namespace bessemer {
namespace {

constexpr std::string_view kPrefix = "tokenizer.ggml.";
constexpr std::string_view kSpace = "\xE2\x96\x81";  // U+2581, SentencePiece's space

// ModelProto.SentencePiece.Type; GGUF's token types have the same values.
enum PieceType : int32_t { kNormal = 1, kUnknown = 2, kControl = 3, kUserDefined = 4, kByte = 6 };

Error malformed(std::string_view key, std::string_view problem) {
  return {
      ErrorKind::kParse,
      "GGUF: metadata `" + std::string(kPrefix) + std::string(key) + "` " + std::string(problem),
      {}};
}

// Protocol-buffer wire format: https://protobuf.dev/programming-guides/encoding
void put_varint(std::string& out, uint64_t value) {
  for (; value > 127; value >>= 7) out += static_cast<char>((value & 127) | 128);
  out += static_cast<char>(value);
}

void put_int(std::string& out, uint32_t field, uint64_t value) {
  put_varint(out, field << 3);
  put_varint(out, value);
}

void put_bytes(std::string& out, uint32_t field, std::string_view value) {
  put_varint(out, field << 3 | 2);
  put_varint(out, value.size());
  out += value;
}

void put_float(std::string& out, uint32_t field, float value) {
  put_varint(out, field << 3 | 5);
  char bytes[sizeof(float)];
  std::memcpy(bytes, &value, sizeof(float));
  out.append(bytes, sizeof(float));
}

Result<const GgufValue*> find_array(const GgufIndex& index, std::string_view key,
                                    GgufType element) {
  const GgufValue* value = index.find(std::string(kPrefix) + std::string(key));
  if (value == nullptr) return malformed(key, "is missing");
  if (value->type != GgufType::kArray || value->element != element) {
    return malformed(key, "is not an array of " + std::string(to_string(element)));
  }
  return value;
}

Result<bool> find_bool(const GgufIndex& index, std::string_view key, bool otherwise) {
  const GgufValue* value = index.find(std::string(kPrefix) + std::string(key));
  if (value == nullptr) return otherwise;
  auto found = value->as_bool();
  if (!found) return malformed(key, "is not a bool");
  return found;
}

template <class T>
T element(const GgufValue& array, uint64_t i) {
  T value;
  std::memcpy(&value, array.data.data() + i * sizeof(T), sizeof(T));
  return value;
}

// The token that stands for what the vocabulary cannot spell: as named, else by kind, else 0.
Result<uint64_t> unknown_token(const GgufIndex& index, const GgufValue& types) {
  constexpr std::string_view key = "unknown_token_id";
  if (const GgufValue* value = index.find(std::string(kPrefix) + std::string(key))) {
    auto id = value->as_int();
    if (!id || *id < 0 || static_cast<uint64_t>(*id) >= types.count) {
      return malformed(key, "is not the id of a token");
    }
    return static_cast<uint64_t>(*id);
  }
  for (uint64_t i = 0; i < types.count; ++i) {
    if (element<int32_t>(types, i) == kUnknown) return i;
  }
  return uint64_t{0};
}

std::string with_escaped_spaces(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == ' ') {
      out += kSpace;
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace

Result<std::string> sentencepiece_model(const GgufIndex& index) {
  BSM_ASSIGN(const GgufValue* tokens, find_array(index, "tokens", GgufType::kString));
  BSM_ASSIGN(const GgufValue* scores, find_array(index, "scores", GgufType::kF32));
  BSM_ASSIGN(const GgufValue* types, find_array(index, "token_type", GgufType::kI32));
  BSM_ASSIGN(const bool space_prefix, find_bool(index, "add_space_prefix", true));
  BSM_ASSIGN(const bool trim, find_bool(index, "remove_extra_whitespaces", false));
  if (index.find(std::string(kPrefix) + "precompiled_charsmap") != nullptr) {
    return Error{ErrorKind::kUnsupported,
                 "GGUF: a SentencePiece vocabulary with a character map "
                 "(`tokenizer.ggml.precompiled_charsmap`)",
                 {}};
  }
  const uint64_t count = tokens->count;
  if (count == 0 || count > static_cast<uint64_t>(std::numeric_limits<int32_t>::max())) {
    return malformed("tokens", "has " + std::to_string(count) + " elements");
  }
  for (const auto& [key, array] : {std::pair("scores", scores), std::pair("token_type", types)}) {
    if (array->count == count) continue;
    return malformed(key, "has " + std::to_string(array->count) + " elements for " +
                              std::to_string(count) + " tokens");
  }
  BSM_ASSIGN(const uint64_t unknown, unknown_token(index, *types));

  std::string model;
  model.reserve(tokens->data.size() + count * 8);
  std::string piece;
  uint64_t byte_pieces = 0;
  const std::byte* at = tokens->data.data();
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t size = 0;
    std::memcpy(&size, at, sizeof size);
    std::string_view text(reinterpret_cast<const char*>(at + sizeof size), size);
    at += sizeof size + size;
    auto type = element<int32_t>(*types, i);
    const auto score = element<float>(*scores, i);
    if (type < kNormal || type > kByte) {
      return malformed("token_type", "has the unknown kind " + std::to_string(type) + " at token " +
                                         std::to_string(i));
    }
    if (!std::isfinite(score)) {
      return malformed("scores", "is not finite at token " + std::to_string(i));
    }
    if (i == unknown) {
      type = kUnknown;
    } else if (type == kUnknown) {
      type = kControl;  // the library takes one unknown piece; none of this kind matches text
    }
    byte_pieces += type == kByte ? 1 : 0;
    std::string named;
    if (text.empty()) {
      named = "[EMPTY_" + std::to_string(i) + "]";
      type = type == kUnknown ? kUnknown : kControl;
    } else if (type == kUserDefined && text.find(' ') != std::string_view::npos) {
      named = with_escaped_spaces(text);
    }
    piece.clear();
    put_bytes(piece, 1, named.empty() ? text : named);
    put_float(piece, 2, score);
    put_int(piece, 3, static_cast<uint64_t>(type));
    put_bytes(model, 1, piece);
  }
  if (byte_pieces != 0 && byte_pieces != 256) {
    return malformed("token_type",
                     "has " + std::to_string(byte_pieces) + " byte tokens, expected none or 256");
  }

  std::string trainer;
  constexpr uint64_t kBpe = 2;
  put_int(trainer, 3, kBpe);
  put_int(trainer, 4, count);
  put_int(trainer, 35, byte_pieces != 0 ? 1 : 0);  // byte_fallback
  put_int(trainer, 40, unknown);
  put_bytes(model, 2, trainer);
  std::string normalizer;
  put_bytes(normalizer, 1, "identity");
  put_int(normalizer, 3, space_prefix ? 1 : 0);  // add_dummy_prefix
  put_int(normalizer, 4, trim ? 1 : 0);          // remove_extra_whitespaces
  put_int(normalizer, 5, 1);                     // escape_whitespaces
  put_bytes(model, 3, normalizer);
  return model;
}

}  // namespace bessemer
