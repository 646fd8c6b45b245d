// SPDX-License-Identifier: Apache-2.0
#include "freshet/journal/variants.h"

#include "freshet/journal/variant/filling_rule.h"
#include "freshet/platform/thread.h"
#include "freshet/sync/mutex.h"

namespace freshet::journal {
namespace {

/// A joiner that finds a slot empty is its leader. In the original the leader made the next slot
/// ready, then closed its own; the others polled its state and called sched_yield in between.
class LeaderRule final : public FillingRule {
public:
    void joined(SlotRing& ring, const JoinResult& place) override {
        if (place.unit == kHeaderUnits) {
            // This does not complete the slot: our own bytes are missing.
            static_cast<void>(ring.close(place.slotNo));
            ring.advance(place.slotNo);
            return;
        }
        // Unbounded: this is what made throughput fall with the number of threads.
        while (ring.isOpen(place.slotNo)) {
            platform::yieldThread();
        }
    }
};

/// The lock is held while joining and copying. Blocks are written without it, except those that
/// became full: one record in a thousand.
class MutexRule final : public FillingRule {
public:
    void begin() override { mutex_.lock(); }
    void end() override { mutex_.unlock(); }

private:
    sync::Mutex mutex_;
};

}  // namespace

void useVariantForBench(Variant variant) {
    static LeaderRule leader;
    static MutexRule mutex;
    FillingRule* rule = variant == Variant::kLeader  ? static_cast<FillingRule*>(&leader)
                        : variant == Variant::kMutex ? &mutex
                                                     : nullptr;
    fillingRule.store(rule, sync::kRelaxed);  // [filling.rule] see its declaration
}

}  // namespace freshet::journal
