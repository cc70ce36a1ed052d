#include "runtime/self_test.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <set>

#include "base/half.h"
#include "runtime/executable.h"

namespace bessemer {
namespace {

using Bytes = std::vector<std::byte>;

// Numbers that are the same everywhere: splitmix64.
class Numbers {
 public:
  explicit Numbers(uint64_t seed) : state_(seed) {}
  uint64_t next() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  float real() { return static_cast<float>(next() >> 40) * 0x1p-23F - 1.0F; }  // in [-1, 1)

 private:
  uint64_t state_;
};

template <class T>
void put(Bytes& bytes, int64_t i, T value) {
  std::memcpy(bytes.data() + i * static_cast<int64_t>(sizeof(T)), &value, sizeof(T));
}

int64_t integer_at(std::string_view name, int64_t i, int64_t count, Numbers& numbers) {
  const int64_t half = std::max<int64_t>((count + 1) / 2, 1);
  if (name.starts_with("seq")) return i / half;
  if (name.starts_with("pos")) return i % half;
  if (name.starts_with("far")) return 250 + i;
  return static_cast<int64_t>(numbers.next() % 8);
}

// Blocks of any bits whose scales (f16) are small and positive.
void fill_blocks(Bytes& bytes, DType dtype, Numbers& numbers) {
  for (std::byte& b : bytes) b = static_cast<std::byte>(numbers.next());
  const int64_t block = info(dtype).block_bytes;
  const bool two = dtype != DType::kQ4_0 && dtype != DType::kQ5_0 && dtype != DType::kQ8_0 &&
                   dtype != DType::kQ6_K;
  const int64_t first = dtype == DType::kQ6_K ? block - 2 : 0;
  for (int64_t at = 0; at + block <= static_cast<int64_t>(bytes.size()); at += block) {
    for (int64_t scale = 0; scale < (two ? 2 : 1); ++scale) {
      const uint16_t h = f32_to_f16(0.01F + 0.005F * numbers.real());
      std::memcpy(bytes.data() + at + first + 2 * scale, &h, 2);
    }
  }
}

Bytes values_for(const Port& port, uint64_t seed) {
  Bytes bytes(static_cast<size_t>(bytes_at(port.type, {})));
  Numbers numbers(seed);
  const DType dtype = port.type.dtype;
  if (is_quantised(dtype)) {
    fill_blocks(bytes, dtype, numbers);
    return bytes;
  }
  const int64_t size = info(dtype).block_bytes;
  const int64_t count = static_cast<int64_t>(bytes.size()) / size;
  for (int64_t i = 0; i < count; ++i) {
    switch (dtype) {
      case DType::kF32:
        put(bytes, i, numbers.real());
        break;
      case DType::kF16:
        put(bytes, i, f32_to_f16(numbers.real()));
        break;
      case DType::kBool:
        put(bytes, i, static_cast<uint8_t>(numbers.next() & 1));
        break;
      default: {
        // Small and not negative, so that little-endian bytes of any width will do.
        const int64_t value = integer_at(port.name, i, count, numbers);
        std::memcpy(bytes.data() + i * size, &value, static_cast<size_t>(size));
      }
    }
  }
  return bytes;
}

std::vector<int64_t> fixed_shape(const Port& port) {
  std::vector<int64_t> shape;
  for (const Dim& d : port.type.shape) shape.push_back(d.constant());
  return shape;
}

struct Outcome {
  std::vector<Bytes> outputs;
  std::vector<Port> ports;
  std::vector<std::string> families;
};

// The families whose kernels the device runs for the schedule.
std::vector<std::string> families_of(const Schedule& schedule) {
  std::set<std::string> families;
  for (const Thunk& thunk : schedule.thunks) {
    families.insert(thunk.kernel.substr(0, thunk.kernel.find("__")));
  }
  return {families.begin(), families.end()};
}

Result<Outcome> run_on(const Graph& graph, const DevicePtr& device) {
  CompileOptions options;
  options.precision = "f32";
  BSM_ASSIGN(const std::unique_ptr<Executable> exe, Executable::create(graph, device, options));
  const Program& program = *exe->program();
  Outcome outcome;
  outcome.families = families_of(*program.buckets().back().schedule);
  uint64_t seed = 1;
  for (const Port& p : program.params()) {
    const Bytes values = values_for(p, ++seed);
    BSM_TRY(exe->weights()->set(p.name, p.type.dtype, fixed_shape(p), values.data()));
  }
  std::vector<Bytes> inputs;
  std::vector<InputView> views;
  for (const Port& p : program.inputs()) inputs.push_back(values_for(p, ++seed));
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Port& p = program.inputs()[i];
    views.push_back({inputs[i].data(), p.type.dtype, fixed_shape(p)});
  }
  std::vector<std::byte*> into;
  for (const Port& p : program.outputs()) {
    outcome.outputs.emplace_back(static_cast<size_t>(bytes_at(p.type, {})));
  }
  for (Bytes& b : outcome.outputs) into.push_back(b.data());
  BSM_TRY(exe->session().run({}, views, into));
  outcome.ports = program.outputs();
  return outcome;
}

double value_at(const Bytes& bytes, DType dtype, int64_t i) {
  const auto read = [&](auto value) {
    std::memcpy(&value, bytes.data() + i * static_cast<int64_t>(sizeof(value)), sizeof(value));
    return value;
  };
  switch (dtype) {
    case DType::kF32:
      return read(0.0F);
    case DType::kF16:
      return f16_to_f32(read(uint16_t{0}));
    case DType::kI32:
      return read(int32_t{0});
    default:
      return read(uint8_t{0});
  }
}

// The largest difference of one output, relative to its largest value and 1; NaN beside a number is
// infinitely far.
double distance(const Bytes& got, const Bytes& want, DType dtype) {
  const int64_t count = static_cast<int64_t>(want.size()) / info(dtype).block_bytes;
  double worst = 0;
  double largest = 1;
  for (int64_t i = 0; i < count; ++i) {
    const double a = value_at(got, dtype, i);
    const double b = value_at(want, dtype, i);
    if (std::isfinite(b)) largest = std::max(largest, std::fabs(b));
    if (a == b || (std::isnan(a) && std::isnan(b))) continue;
    const double d = std::fabs(a - b);
    worst = std::max(worst, std::isnan(d) ? INFINITY : d);
  }
  return worst / largest;
}

}  // namespace

Result<ProbeVerdict> run_probe(const Probe& probe, const DevicePtr& device) {
  ProbeVerdict verdict;
  verdict.probe = probe.name;
  BSM_ASSIGN(const Graph graph, parse_graph(probe.graph));
  BSM_ASSIGN(const DevicePtr reference, open_device("cpu", {.threads = 1, .isa = "generic"}));
  BSM_ASSIGN(const Outcome want, run_on(graph, reference));
  const auto start = std::chrono::steady_clock::now();
  const Result<Outcome> got = run_on(graph, device);
  verdict.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (!got) {
    verdict.detail = got.error().to_string();
    return verdict;
  }
  verdict.families = got->families;
  verdict.passed = true;
  for (size_t i = 0; i < want.outputs.size(); ++i) {
    const double d = distance(got->outputs[i], want.outputs[i], want.ports[i].type.dtype);
    verdict.worst = std::max(verdict.worst, d);
    if (d <= probe.tolerance) continue;
    verdict.passed = false;
    verdict.detail += (verdict.detail.empty() ? "" : "; ") + ("output `" + want.ports[i].name) +
                      "` is off by " + std::to_string(d) + ", allowed is " +
                      std::to_string(probe.tolerance);
  }
  return verdict;
}

std::vector<std::string> failed_families(std::span<const ProbeVerdict> verdicts) {
  std::set<std::string> failed;
  for (const ProbeVerdict& v : verdicts) {
    if (!v.passed) failed.insert(v.families.begin(), v.families.end());
  }
  // A probe of attention also appends rows; what agreed in a probe with fewer suspects is not to
  // blame for that one.
  for (const ProbeVerdict& v : verdicts) {
    if (!v.passed) continue;
    for (const std::string& family : v.families) {
      const bool alone = std::any_of(verdicts.begin(), verdicts.end(), [&](const ProbeVerdict& f) {
        return !f.passed && f.families == std::vector<std::string>{family};
      });
      if (!alone) failed.erase(family);
    }
  }
  return {failed.begin(), failed.end()};
}

}  // namespace bessemer
