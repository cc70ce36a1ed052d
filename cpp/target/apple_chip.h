// Published facts about Apple's chips, for modelled devices. Nothing at run time depends on them:
// a real device is probed.
#pragma once

#include <span>
#include <string_view>

namespace bessemer {

struct AppleChip {
  std::string_view name;  // "m2-pro"
  int family = 7;         // Apple7 .. Apple10
  int gpu_cores = 0;      // of the largest variant
  int dies = 1;           // 2: two chips joined ("Ultra")
  double bandwidth = 0;   // bytes per second, of the memory
  double clock = 0;       // GPU cycles per second, at its highest

  // Each core does 128 fused multiply-adds in f32 a cycle.
  [[nodiscard]] double flops() const { return gpu_cores * 128.0 * 2.0 * clock; }
};

[[nodiscard]] std::span<const AppleChip> apple_chips();
// Null if there is none of that name.
[[nodiscard]] const AppleChip* find_apple_chip(std::string_view name);

}  // namespace bessemer
