#include "target/apple_chip.h"

namespace bessemer {
namespace {

// Memory bandwidth as Apple publishes it; the highest GPU clocks as measured by others.
constexpr AppleChip kChips[] = {
    {"m1", 7, 8, 1, 68e9, 1.278e9},        {"m1-pro", 7, 16, 1, 200e9, 1.296e9},
    {"m1-max", 7, 32, 1, 400e9, 1.296e9},  {"m1-ultra", 7, 64, 2, 800e9, 1.296e9},
    {"m2", 8, 10, 1, 100e9, 1.398e9},      {"m2-pro", 8, 19, 1, 200e9, 1.398e9},
    {"m2-max", 8, 38, 1, 400e9, 1.398e9},  {"m2-ultra", 8, 76, 2, 800e9, 1.398e9},
    {"m3", 9, 10, 1, 100e9, 1.380e9},      {"m3-pro", 9, 18, 1, 150e9, 1.380e9},
    {"m3-max", 9, 40, 1, 400e9, 1.380e9},  {"m3-ultra", 9, 80, 2, 819e9, 1.380e9},
    {"m4", 9, 10, 1, 120e9, 1.470e9},      {"m4-pro", 9, 20, 1, 273e9, 1.578e9},
    {"m4-max", 9, 40, 1, 546e9, 1.578e9},  {"m5", 10, 10, 1, 153e9, 1.600e9},
    {"m5-pro", 10, 20, 1, 307e9, 1.600e9}, {"m5-max", 10, 40, 1, 614e9, 1.600e9},
};

}  // namespace

std::span<const AppleChip> apple_chips() { return kChips; }

const AppleChip* find_apple_chip(std::string_view name) {
  for (const AppleChip& chip : kChips) {
    if (chip.name == name) return &chip;
  }
  return nullptr;
}

}  // namespace bessemer
