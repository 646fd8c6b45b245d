// SPDX-License-Identifier: Apache-2.0
/// PinSet: the positions from which readers still need the log, and up to where it has been
/// recycled. Both under one lock, so that a segment is either pinned or gone. The lock is held for
/// a few instructions, never during I/O, and no append takes it. Threads: any.
#pragma once

#include "freshet/sync/atomic.h"
#include "freshet/sync/mutex.h"

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace freshet::journal {

/// One pin, shared by its owner and the set.
struct PinState {
    /// Segments that end above this are needed. Rises only. [pin.position] relaxed: a pin that is
    /// seen to be lower than it is keeps a segment for longer.
    sync::Atomic<uint64_t> position{0};
    /// Set once. [pin.void] relaxed: a reader learns of the loss from PinSet::recycledTo().
    sync::Atomic<bool> isVoid{false};
};

class PinSet {
public:
    /// Void at once if what begins at `position` has been recycled.
    std::shared_ptr<PinState> add(uint64_t position);
    void remove(const std::shared_ptr<PinState>& pin);
    /// A segment that ends at `end` is about to be recycled. False: a pin needs it. With `force`
    /// such pins become void instead. After true, recycledTo() is at least `end`.
    bool letGo(uint64_t end, bool force);
    /// Everything below may be gone. 0: nothing has been recycled since the start.
    uint64_t recycledTo() const;

private:
    mutable sync::Mutex mutex_;                    // a leaf
    std::vector<std::shared_ptr<PinState>> pins_;  // guarded by mutex_
    uint64_t recycledTo_ = 0;                      // guarded by mutex_
};

}  // namespace freshet::journal
