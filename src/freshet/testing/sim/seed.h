// SPDX-License-Identifier: Apache-2.0
/// The seed of random tests, so that every failure can be run again. Tests only.
#pragma once

#include <cstdint>

namespace freshet::testing {

/// FRESHET_SEED from the environment if it is set (decimal or 0x...), else a new one. Printed
/// either way. Any thread.
uint64_t testSeed();

}  // namespace freshet::testing
