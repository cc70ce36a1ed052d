// A GGUF file's SentencePiece vocabulary in the form that the SentencePiece library loads.
#pragma once

#include <string>

#include "base/error.h"
#include "runtime/gguf.h"

namespace bessemer {

// The serialised `sentencepiece.ModelProto` (BPE) of a file whose `tokenizer.ggml.model` is
// "llama": pieces, scores and kinds from `tokenizer.ggml.{tokens,scores,token_type}`, byte fallback
// if the vocabulary has the 256 byte pieces, a space before the text unless `add_space_prefix` is
// false. Piece i of the result is token i. GGUF stores user-defined pieces with plain spaces;
// SentencePiece matches them after spaces have become U+2581, so they are written that way. An
// empty piece, which the library refuses, gets a name that no text is matched with. Fails with
// kParse for arrays that are missing, of another type, or of different lengths, for scores that are
// not finite, and for unknown kinds. Message fields: sentencepiece_model.proto of
// https://github.com/google/sentencepiece
[[nodiscard]] Result<std::string> sentencepiece_model(const GgufIndex& index);

}  // namespace bessemer
