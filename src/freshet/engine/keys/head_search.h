// SPDX-License-Identifier: Apache-2.0
/// The last steps of a search among a page's key heads: all remaining ones are compared at once,
/// instead of one after the other with unpredictable branches.
#pragma once

#include <cstdint>

namespace freshet::engine {

/// Number of heads compared at once: four cache lines, which the machine fetches together.
inline constexpr uint32_t kScannedMax = 32;

/// How many of the ascending heads[0, n) are below `head`. With AVX2 where the machine has it.
uint32_t countBelow(const uint64_t* heads, uint32_t n, uint64_t head);
/// The same on any machine.
uint32_t countBelowPlain(const uint64_t* heads, uint32_t n, uint64_t head);

}  // namespace freshet::engine
