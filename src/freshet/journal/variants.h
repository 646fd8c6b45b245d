// SPDX-License-Identifier: Apache-2.0
/// Other ways to fill the slots, to be measured beside ours. For freshet-bench alone: no other
/// program refers to this header, so no other program's linker takes the code in.
#pragma once

#include <cstdint>

namespace freshet::journal {

enum class Variant : uint8_t {
    kSlots,   // ours: join and copy at once; nobody waits for anybody
    kLeader,  // as WiredTiger began (source 001): the first to join a slot leads, closes it, and
              // all who have joined wait for that, busily, before they copy; each slot is then
              // written
    kMutex    // join and copy under one lock
};

/// Journals that this process opens from now on fill their slots in this way. What they write is
/// the same and so is what they promise; only what it costs differs.
void useVariantForBench(Variant variant);

}  // namespace freshet::journal
