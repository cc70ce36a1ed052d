// Agreement of a device's kernels with the portable CPU kernels, by short probes: a small graph
// for each kernel family and variant, run on both. No family of a GPU is trusted on a machine
// before it has agreed there.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "runtime/device.h"

namespace bessemer {

// One graph in text form. Its inputs are filled by what they are: floats with values in [-1, 1);
// "seq..." with 0 in the first half and 1 in the second, "pos..." with positions that count from 0
// in each half, "far..." with positions from 250 on, other integers with 0..7, bools with a
// pattern; params likewise, block-quantised ones with any quants and small scales.
struct Probe {
  std::string_view name;
  std::string_view graph;
  double tolerance;  // of the largest difference, relative to the largest value and 1
};
[[nodiscard]] std::span<const Probe> probes();

struct ProbeVerdict {
  std::string probe;
  std::vector<std::string> families;  // the kernel families that the device used, without repeats
  bool passed = false;
  std::string detail;  // what differed or failed; empty if it passed
  double worst = 0;    // the largest difference, relative as in Probe
  double seconds = 0;  // of the run on the device, compile included
};

// Compiles and runs one probe on the device and on the generic CPU kernels. Blocking. A failure of
// the device is a verdict; an error is a failure of the reference.
[[nodiscard]] Result<ProbeVerdict> run_probe(const Probe& probe, const DevicePtr& device);

// The families that must not be used: those of every failed probe that no passed probe used too.
[[nodiscard]] std::vector<std::string> failed_families(std::span<const ProbeVerdict> verdicts);

}  // namespace bessemer
