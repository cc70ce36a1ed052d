// A GGUF file's byte-level BPE vocabulary in the form that the `tokenizers` library loads.
#pragma once

#include <string>

#include "base/error.h"
#include "runtime/gguf.h"

namespace bessemer {

// The JSON document of a tokeniser with the BPE model of a file whose `tokenizer.ggml.model` is
// "gpt2" and nothing else: the vocabulary of `tokenizer.ggml.tokens`, token i having id i, and
// `tokenizer.ggml.merges` by rank. Made here so that hundreds of thousands of strings never become
// objects of an interpreter, whose heap they would fragment.
// kParse for arrays that are missing or of another type, text that is not UTF-8, two tokens with
// one text, and a merge that is not two tokens, one space between, that make a third.
[[nodiscard]] Result<std::string> bpe_tokenizer_json(const GgufIndex& index, bool ignore_merges);

}  // namespace bessemer
