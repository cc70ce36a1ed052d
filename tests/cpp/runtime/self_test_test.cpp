#include "runtime/self_test.h"

#include <gtest/gtest.h>

#include "devices/register_devices.h"

namespace bessemer {
namespace {

DevicePtr cpu() {
  register_all_devices();
  auto device = open_device("cpu", {.threads = 2});
  EXPECT_TRUE(device.ok());
  return *device;
}

TEST(SelfTest, EveryProbePassesOnTheCpusBestKernels) {
  for (const Probe& probe : probes()) {
    const auto verdict = run_probe(probe, cpu());
    ASSERT_TRUE(verdict.ok()) << probe.name << ": " << verdict.error().to_string();
    EXPECT_TRUE(verdict->passed) << probe.name << ": " << verdict->detail;
    EXPECT_FALSE(verdict->families.empty()) << probe.name;
  }
}

TEST(SelfTest, ADeviceThatCannotRunIsAVerdictNotAnError) {
  register_all_devices();
  const auto device = open_device("modelled:m1");
  ASSERT_TRUE(device.ok());
  const auto verdict = run_probe(probes()[0], *device);
  ASSERT_TRUE(verdict.ok());
  EXPECT_FALSE(verdict->passed);
  EXPECT_NE(verdict->detail.find("cannot run"), std::string::npos) << verdict->detail;
}

ProbeVerdict verdict(std::vector<std::string> families, bool passed) {
  ProbeVerdict v;
  v.families = std::move(families);
  v.passed = passed;
  return v;
}

TEST(SelfTest, BlamesTheFamilyThatNoProbeClears) {
  const ProbeVerdict verdicts[] = {verdict({"scatter_rows"}, true),
                                   verdict({"attention", "scatter_rows"}, false)};
  EXPECT_EQ(failed_families(verdicts), std::vector<std::string>{"attention"});
}

TEST(SelfTest, AFamilyThatFailedAloneStaysBlamed) {
  const ProbeVerdict verdicts[] = {verdict({"linear_rows"}, true), verdict({"linear_rows"}, false)};
  EXPECT_EQ(failed_families(verdicts), std::vector<std::string>{"linear_rows"});
}

}  // namespace
}  // namespace bessemer
