// SPDX-License-Identifier: Apache-2.0
/// Other ways to fill the slots, to be measured beside ours. For freshet-bench alone: no other
/// program refers to this header, so the linker leaves the code out of all others.
#pragma once

#include <cstdint>

namespace freshet::journal {

enum class Variant : uint8_t {
    kSlots,   // ours: join and copy at once; no thread waits for another
    kLeader,  // WiredTiger's first design: the first to join a slot leads and closes it; all that
              // have joined wait for that, busily, before they copy; each slot is then written
    kMutex    // join and copy under one lock
};

/// Journals that this process opens from now on fill their slots in this way. They write the same
/// bytes and keep the same promises; only the cost differs.
void useVariantForBench(Variant variant);

}  // namespace freshet::journal
