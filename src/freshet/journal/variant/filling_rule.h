// SPDX-License-Identifier: Apache-2.0
/// Hook for the benchmark's variants between the steps of filling a slot (see variants.h). In a
/// server there is no rule, and a turn costs one null check.
#pragma once

#include "freshet/journal/slot/slot_ring.h"
#include "freshet/sync/atomic.h"

namespace freshet::journal {

class FillingRule {
public:
    virtual ~FillingRule() = default;
    virtual void begin() {}
    /// `place` has been claimed; its bytes are not copied yet.
    virtual void joined(SlotRing& /*ring*/, const JoinResult& /*place*/) {}
    /// The bytes have been released, or no place was found for them.
    virtual void end() {}
};

/// For journals that are opened from now on; null: ours. Set by useVariantForBench() before any
/// journal exists, hence relaxed.
inline sync::Atomic<FillingRule*> fillingRule{nullptr};

/// One record on its way into a slot.
class FillingTurn {
public:
    explicit FillingTurn(FillingRule* rule) : rule_(rule) {
        if (rule_ != nullptr) {
            rule_->begin();
        }
    }
    ~FillingTurn() { end(); }
    FillingTurn(const FillingTurn&) = delete;
    FillingTurn& operator=(const FillingTurn&) = delete;

    void joined(SlotRing& ring, const JoinResult& place) {
        if (rule_ != nullptr) {
            rule_->joined(ring, place);
        }
    }
    void end() {
        if (rule_ != nullptr) {
            rule_->end();
            rule_ = nullptr;
        }
    }

private:
    FillingRule* rule_;
};

}  // namespace freshet::journal
