// The text form of a schedule:
//
//   schedule 1
//   extents tokens=64
//   arena 4096 bound 4096 guard 0 critical 3 merges 1 views 0
//   value 7 arena0+256 size 64*tokens of 4096 steps 0..2 over 5 "L0.norm"
//   step 0 from 0: rms_norm__f32(r input0[0 : 256*tokens], w arena0[256 : 64*tokens])
//     launch [tokens, 1, 1] x [1, 1, 1] flops 3*tokens node 4 "L0.norm"
//     in_place 1=0
//     params 0000000000000000 0100000000000000
//     patch 8 wide 8 = tokens
//   barrier
//   step 1 from 1: ...
//
// `over`, `in_place`, `params` and `patch` are left out where there is nothing to say.
#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdio>

#include "plan/schedule.h"

namespace bessemer {
namespace {

constexpr size_t kMaxThunks = 1u << 24;
constexpr Space kSpaces[] = {Space::kArena, Space::kWeights, Space::kState,
                             Space::kInput, Space::kOutput,  Space::kConstant};

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char ch : text) {
    const auto byte = static_cast<unsigned char>(ch);
    if (ch == '"' || ch == '\\') {
      out += '\\';
      out += ch;
    } else if (byte < 0x20 || byte == 0x7f) {
      char code[5];
      std::snprintf(code, sizeof code, "\\x%02x", byte);
      out += code;
    } else {
      out += ch;
    }
  }
  return out + "\"";
}

int hex_digit(char ch) {
  if (ch >= '0' && ch <= '9') return ch - '0';
  if (ch >= 'a' && ch <= 'f') return ch - 'a' + 10;
  return -1;
}

void append_params(const std::vector<std::byte>& params, std::string* text) {
  constexpr char kDigits[] = "0123456789abcdef";
  for (size_t i = 0; i < params.size(); ++i) {
    if (i % 8 == 0) *text += ' ';
    *text += kDigits[static_cast<unsigned>(params[i]) >> 4];
    *text += kDigits[static_cast<unsigned>(params[i]) & 15];
  }
}

void append_thunk(const Thunk& t, std::span<const Extent> extents, std::string* text) {
  *text += t.kernel + "(";
  for (size_t i = 0; i < t.operands.size(); ++i) {
    if (i > 0) *text += ", ";
    *text += to_string(t.operands[i], extents);
  }
  *text += ")\n  launch [";
  for (int i = 0; i < 3; ++i) {
    *text += (i > 0 ? ", " : "") + t.launch.grid[i].to_string(extents);
  }
  *text += "] x [";
  for (int i = 0; i < 3; ++i) {
    *text += (i > 0 ? ", " : "") + std::to_string(t.launch.group[i]);
  }
  *text += "] flops " + t.flops.to_string(extents) + " node " + std::to_string(t.node) + " " +
           quoted(t.label) + "\n";
  if (!t.in_place.empty()) {
    *text += "  in_place";
    for (const InPlace& h : t.in_place) {
      *text += " " + std::to_string(h.out) + "=" + std::to_string(h.in);
    }
    *text += "\n";
  }
  if (!t.params.empty()) {
    *text += "  params";
    append_params(t.params, text);
    *text += "\n";
  }
  for (const Patch& p : t.patches) {
    *text += "  patch " + std::to_string(p.byte_offset) + " wide " + std::to_string(p.width) +
             " = " + p.value.to_string(extents) + "\n";
  }
}

// Reads one line from left to right. Every method leaves the reader where it was on failure.
class LineReader {
 public:
  explicit LineReader(std::string_view line) : rest_(line) {}

  [[nodiscard]] std::string_view rest() const { return rest_; }
  [[nodiscard]] bool at_end() const { return rest_.empty(); }
  [[nodiscard]] bool starts_with(std::string_view text) const { return rest_.starts_with(text); }

  bool literal(std::string_view text) {
    if (!rest_.starts_with(text)) return false;
    rest_.remove_prefix(text.size());
    return true;
  }
  template <class Integer>
  bool number(Integer* value) {
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), *value);
    if (error != std::errc()) return false;
    rest_.remove_prefix(static_cast<size_t>(end - rest_.data()));
    return true;
  }
  // Up to, not including, the first of `stops` (which must occur) and not empty.
  bool until(std::string_view stop, std::string_view* text) {
    const size_t end = rest_.find(stop);
    if (end == std::string_view::npos || end == 0) return false;
    *text = rest_.substr(0, end);
    rest_.remove_prefix(end);
    return true;
  }
  bool string(std::string* text) {
    if (!rest_.starts_with('"')) return false;
    text->clear();
    for (size_t i = 1; i < rest_.size(); ++i) {
      if (rest_[i] == '"') {
        rest_.remove_prefix(i + 1);
        return true;
      }
      if (rest_[i] != '\\') {
        *text += rest_[i];
      } else if (i + 1 < rest_.size() && (rest_[i + 1] == '"' || rest_[i + 1] == '\\')) {
        *text += rest_[++i];
      } else if (i + 3 < rest_.size() && rest_[i + 1] == 'x' && hex_digit(rest_[i + 2]) >= 0 &&
                 hex_digit(rest_[i + 3]) >= 0) {
        *text += static_cast<char>(hex_digit(rest_[i + 2]) * 16 + hex_digit(rest_[i + 3]));
        i += 3;
      } else {
        return false;
      }
    }
    return false;
  }

 private:
  std::string_view rest_;
};

class ScheduleParser {
 public:
  explicit ScheduleParser(std::string_view text) : text_(text) {}

  Result<Schedule> parse() {
    if (!next_line() || line_ != "schedule 1") return fail("expected `schedule 1`");
    if (!next_line()) return fail("expected `extents`");
    BSM_TRY(extents());
    if (!next_line()) return fail("expected `arena`");
    BSM_TRY(arena());
    bool barrier = false;
    while (next_line()) {
      if (line_.starts_with("value ")) {
        if (!schedule_.thunks.empty() || barrier) return fail("values stand before the steps");
        BSM_TRY(value());
      } else if (line_ == "barrier") {
        if (barrier) return fail("two barriers without a step between them");
        barrier = true;
      } else if (line_.starts_with("step ")) {
        BSM_TRY(step(barrier));
        barrier = false;
      } else if (line_.starts_with("  ") && !schedule_.thunks.empty() && !barrier) {
        BSM_TRY(detail());
      } else {
        return fail("expected value, step, barrier or a step's detail");
      }
    }
    if (barrier) return fail("a barrier after the last step");
    if (!schedule_.thunks.empty() && !launched_) return fail("the step has no `launch`");
    for (const ArenaValue& v : schedule_.values) {
      if (v.first > v.last || v.last >= schedule_.thunks.size() ||
          v.block >= schedule_.arena_blocks.size()) {
        return fail("value " + std::to_string(v.buffer) + " names steps or a block not there");
      }
    }
    return std::move(schedule_);
  }

 private:
  Error fail(const std::string& what) const {
    std::string shown(line_.substr(0, 60));
    return Error{ErrorKind::kParse,
                 "schedule text, line " + std::to_string(line_number_) + ": " + what + ", not `" +
                     shown + "`",
                 {}};
  }

  bool next_line() {
    line_ = {};
    ++line_number_;
    if (text_.empty()) return false;
    const size_t end = text_.find('\n');
    line_ = text_.substr(0, end);
    text_.remove_prefix(end == std::string_view::npos ? text_.size() : end + 1);
    return true;
  }

  Result<Dim> dim(std::string_view text) const {
    auto parsed = Dim::parse(text, schedule_.extents);
    if (!parsed) return fail(parsed.error().message);
    return parsed;
  }

  Status extents() {
    LineReader in(line_);
    if (!in.literal("extents")) return fail("expected `extents`");
    while (!in.at_end()) {
      Extent e;
      std::string_view name;
      if (!in.literal(" ") || !in.until("=", &name) || !in.literal("=") || !in.number(&e.max) ||
          e.max < 0) {
        return fail("expected ` NAME=MAX`");
      }
      const bool identifier =
          std::isdigit(static_cast<unsigned char>(name[0])) == 0 &&
          std::all_of(name.begin(), name.end(), [](char ch) {
            return std::isalnum(static_cast<unsigned char>(ch)) != 0 || ch == '_';
          });
      if (!identifier) return fail("an extent's name is an identifier");
      e.name = name;
      for (const Extent& other : schedule_.extents) {
        if (other.name == e.name) return fail("extent `" + e.name + "` stands twice");
      }
      if (schedule_.extents.size() >= 0xffff) return fail("too many extents");
      schedule_.extents.push_back(std::move(e));
    }
    return {};
  }

  Status arena() {
    LineReader in(line_);
    if (!in.literal("arena")) return fail("expected `arena`");
    while (!in.starts_with(" bound")) {
      int64_t bytes = 0;
      if (!in.literal(" ") || !in.number(&bytes) || bytes < 0) return fail("expected block sizes");
      schedule_.arena_blocks.push_back(bytes);
    }
    Schedule& s = schedule_;
    if (!in.literal(" bound ") || !in.number(&s.arena_bound) || !in.literal(" guard ") ||
        !in.number(&s.guard_bytes) || !in.literal(" critical ") || !in.number(&s.critical_path) ||
        !in.literal(" merges ") || !in.number(&s.in_place_merges) || !in.literal(" views ") ||
        !in.number(&s.views) || !in.at_end()) {
      return fail("expected ` bound N guard N critical N merges N views N`");
    }
    return {};
  }

  Status value() {
    LineReader in(line_);
    ArenaValue v;
    std::string_view size;
    if (!in.literal("value ") || !in.number(&v.buffer) || !in.literal(" arena") ||
        !in.number(&v.block) || !in.literal("+") || !in.number(&v.offset) ||
        !in.literal(" size ") || !in.until(" of ", &size) || !in.literal(" of ") ||
        !in.number(&v.max_bytes) || !in.literal(" steps ") || !in.number(&v.first) ||
        !in.literal("..") || !in.number(&v.last)) {
      return fail("expected `value BUFFER arenaB+OFFSET size DIM of MAX steps FIRST..LAST`");
    }
    if (in.literal(" over ") && !in.number(&v.takes_over)) return fail("expected a buffer");
    if (!in.literal(" ") || !in.string(&v.label) || !in.at_end()) return fail("expected a label");
    BSM_ASSIGN(v.bytes, dim(size));
    schedule_.values.push_back(std::move(v));
    return {};
  }

  Status step(bool barrier) {
    if (!schedule_.thunks.empty() && !launched_) return fail("the step before has no `launch`");
    if (schedule_.thunks.size() >= kMaxThunks) return fail("too many steps");
    LineReader in(line_);
    size_t number = 0;
    uint32_t original = 0;
    std::string_view kernel;
    if (!in.literal("step ") || !in.number(&number) || !in.literal(" from ") ||
        !in.number(&original) || !in.literal(": ") || !in.until("(", &kernel) || !in.literal("(")) {
      return fail("expected `step N from M: KERNEL(`");
    }
    if (number != schedule_.thunks.size()) {
      return fail("expected step " + std::to_string(schedule_.thunks.size()));
    }
    Thunk thunk;
    thunk.kernel = kernel;
    while (!in.literal(")")) {
      if (!thunk.operands.empty() && !in.literal(", ")) return fail("expected `, ` or `)`");
      BSM_TRY(operand(&in, &thunk));
    }
    if (!in.at_end()) return fail("expected the end of the line after `)`");
    schedule_.thunks.push_back(std::move(thunk));
    schedule_.original.push_back(original);
    schedule_.barrier_before.push_back(barrier ? 1 : 0);
    launched_ = false;
    return {};
  }

  Status operand(LineReader* in, Thunk* thunk) const {
    Operand o;
    if (in->literal("rw ")) {
      o.access = Access::kReadWrite;
    } else if (in->literal("r ")) {
      o.access = Access::kRead;
    } else if (in->literal("w ")) {
      o.access = Access::kWrite;
    } else {
      return fail("expected r, w or rw");
    }
    const auto* space = std::find_if(std::begin(kSpaces), std::end(kSpaces),
                                     [&](Space s) { return in->literal(to_string(s)); });
    std::string_view offset;
    std::string_view bytes;
    if (space == std::end(kSpaces) || !in->number(&o.block) || !in->literal("[") ||
        !in->until(" : ", &offset) || !in->literal(" : ") || !in->until("]", &bytes) ||
        !in->literal("]")) {
      return fail("expected an operand `SPACE N[OFFSET : BYTES]`");
    }
    o.space = *space;
    BSM_ASSIGN(o.offset, dim(offset));
    BSM_ASSIGN(o.bytes, dim(bytes));
    thunk->operands.push_back(std::move(o));
    return {};
  }

  Status detail() {
    LineReader in(line_);
    Thunk& t = schedule_.thunks.back();
    if (in.literal("  launch [")) {
      if (launched_) return fail("a second `launch`");
      launched_ = true;
      return launch(in, &t);
    }
    if (!launched_) return fail("expected `launch` first");
    if (in.literal("  in_place")) {
      if (!t.in_place.empty()) return fail("a second `in_place`");
      do {
        InPlace h;
        if (!in.literal(" ") || !in.number(&h.out) || !in.literal("=") || !in.number(&h.in)) {
          return fail("expected ` OUT=IN`");
        }
        t.in_place.push_back(h);
      } while (!in.at_end());
      return {};
    }
    if (in.literal("  params")) {
      if (!t.params.empty()) return fail("a second `params`");
      return params(in, &t);
    }
    Patch p;
    if (!in.literal("  patch ") || !in.number(&p.byte_offset) || !in.literal(" wide ") ||
        !in.number(&p.width) || !in.literal(" = ")) {
      return fail("expected launch, in_place, params or patch");
    }
    if ((p.width != 4 && p.width != 8) || t.params.size() < p.width ||
        p.byte_offset > t.params.size() - p.width) {
      return fail("the patch lies outside of the params");
    }
    BSM_ASSIGN(p.value, dim(in.rest()));
    t.patches.push_back(std::move(p));
    return {};
  }

  Status launch(LineReader in, Thunk* t) const {
    for (int i = 0; i < 3; ++i) {
      std::string_view text;
      const std::string_view stop = i < 2 ? ", " : "] x [";
      if (!in.until(stop, &text) || !in.literal(stop)) return fail("expected three grid sizes");
      BSM_ASSIGN(t->launch.grid[i], dim(text));
    }
    std::string_view flops;
    for (int i = 0; i < 3; ++i) {
      if (!in.number(&t->launch.group[i]) || !in.literal(i < 2 ? ", " : "] flops ")) {
        return fail("expected three group sizes and flops");
      }
    }
    if (!in.until(" node ", &flops) || !in.literal(" node ") || !in.number(&t->node) ||
        !in.literal(" ") || !in.string(&t->label) || !in.at_end()) {
      return fail("expected `DIM node N \"LABEL\"`");
    }
    BSM_ASSIGN(t->flops, dim(flops));
    return {};
  }

  Status params(LineReader in, Thunk* t) const {
    while (!in.at_end()) {
      if (!in.literal(" ")) return fail("expected words of 8 bytes");
      const std::string_view word = in.rest().substr(0, in.rest().find(' '));
      const bool last = word.size() == in.rest().size();
      if (word.empty() || word.size() % 2 != 0 || word.size() > 16 ||
          (!last && word.size() != 16)) {
        return fail("expected words of 8 bytes in hexadecimal");
      }
      for (size_t i = 0; i < word.size(); i += 2) {
        const int high = hex_digit(word[i]);
        const int low = hex_digit(word[i + 1]);
        if (high < 0 || low < 0) return fail("expected lower-case hexadecimal digits");
        t->params.push_back(static_cast<std::byte>(high * 16 + low));
      }
      in.literal(word);
    }
    if (t->params.empty()) return fail("expected params");
    return {};
  }

  std::string_view text_;
  std::string_view line_;
  size_t line_number_ = 0;
  Schedule schedule_;
  bool launched_ = false;
};

}  // namespace

std::string to_string(const Schedule& s) {
  std::string text = "schedule 1\nextents";
  for (const Extent& e : s.extents) text += " " + e.name + "=" + std::to_string(e.max);
  text += "\narena";
  for (int64_t bytes : s.arena_blocks) text += " " + std::to_string(bytes);
  text += " bound " + std::to_string(s.arena_bound) + " guard " + std::to_string(s.guard_bytes) +
          " critical " + std::to_string(s.critical_path) + " merges " +
          std::to_string(s.in_place_merges) + " views " + std::to_string(s.views) + "\n";
  for (const ArenaValue& v : s.values) {
    text += "value " + std::to_string(v.buffer) + " arena" + std::to_string(v.block) + "+" +
            std::to_string(v.offset) + " size " + v.bytes.to_string(s.extents) + " of " +
            std::to_string(v.max_bytes) + " steps " + std::to_string(v.first) + ".." +
            std::to_string(v.last);
    if (v.takes_over != ArenaValue::kNothing) text += " over " + std::to_string(v.takes_over);
    text += " " + quoted(v.label) + "\n";
  }
  for (size_t i = 0; i < s.thunks.size(); ++i) {
    if (s.barrier_before[i] != 0) text += "barrier\n";
    text += "step " + std::to_string(i) + " from " + std::to_string(s.original[i]) + ": ";
    append_thunk(s.thunks[i], s.extents, &text);
  }
  return text;
}

Result<Schedule> parse_schedule(std::string_view text) { return ScheduleParser(text).parse(); }

}  // namespace bessemer
