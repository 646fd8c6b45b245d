// SPDX-License-Identifier: Apache-2.0
/// Gate: a counter of writers inside and two flags in one word; waiters have tokens, guarded by a
/// mutex that only the slow path takes.
#include "freshet/catalog/gate.h"

#include "freshet/base/assert.h"
#include "freshet/sync/atomic.h"
#include "freshet/sync/mutex.h"

#include <vector>

namespace freshet::catalog {

namespace {

constexpr uint64_t kClosing = 1;
constexpr uint64_t kRetired = 2;
constexpr uint64_t kOneInside = 4;

}  // namespace

struct Gate::Impl {
    /// Written by: writers, definition changes. Read by: both, and isRetired().
    ///   WORD     | closing:1 | retired:1 | inside:62 |
    ///   STEPS    open -> closing -> (inside == 0) alone -> open, or retired for ever
    ///   INV-1    a writer that counted itself while a flag was set is not inside and counts
    ///            itself out again
    ///   INV-2    once closing is set and inside is 0, no writer gets inside until open()
    ///   OWNS     the definition change has the collection's definition from INV-2 to open()
    ///   ABA      a count that rose and fell between two loads is harmless: only 0 after closing
    ///            matters, and INV-1 keeps newcomers out
    alignas(sync::kLineBytes) sync::Atomic<uint64_t> word{0};

    sync::Mutex mutex;
    std::vector<sync::WaitToken> waiting;  // guarded by mutex; writers kept out, one token each
    sync::WaitToken emptied;               // guarded by mutex; set while close() waits for writers

    /// Waiters that have given up do not notice, which is fine. REQUIRES: mutex held.
    void wakeWriters() {
        for (const sync::WaitToken& token : waiting) {
            token.complete();
        }
        waiting.clear();
        emptied = {};
    }
};

Gate::Gate() : impl_(std::make_unique<Impl>()) {}
Gate::~Gate() = default;

Status Gate::enter(sync::WaitToken* token) {
    for (;;) {
        // [gate.enter] fetch_add  counts us in; LINEARIZES entering when no flag was set.
        //   ORDER  acquire: pairs with [gate.open], so that we see the definition it made.
        uint64_t before = impl_->word.fetch_add(kOneInside, sync::kAcquire);
        if ((before & (kClosing | kRetired)) == 0) {
            return Status::ok();
        }
        leave();
        if ((before & kRetired) != 0) {
            return Status(
                Code::kCancelled, Reason::kNamespaceNotFound, "the collection was dropped");
        }
        std::lock_guard lock(impl_->mutex);
        // Relaxed: flags change under the mutex only, which we hold.
        uint64_t now = impl_->word.load(sync::kRelaxed);
        if ((now & kClosing) != 0) {
            *token = impl_->waiting.emplace_back(sync::WaitToken::create());
            return Status::wouldBlock();
        }
        // It was opened (or retired) meanwhile; each further round means another definition change.
    }
}

void Gate::leave() {
    // [gate.leave] fetch_sub  counts us out.
    //   ORDER  release: pairs with [gate.close], so that the closer sees what we did inside.
    uint64_t before = impl_->word.fetch_sub(kOneInside, sync::kRelease);
    dcheck(before >= kOneInside);
    if ((before & kClosing) == 0 || before >= 2 * kOneInside) {
        return;
    }
    // The last one out wakes the closer. If the closer has not stored its token yet, it will see
    // our count of 0, since it looks again under the mutex.
    std::lock_guard lock(impl_->mutex);
    if (impl_->emptied.isSet()) {
        impl_->emptied.complete();
    }
}

Status Gate::close(sync::WaitToken* token) {
    std::lock_guard lock(impl_->mutex);
    impl_->emptied = sync::WaitToken::create();
    // [gate.close] fetch_or  keeps newcomers out and sees whether writers are inside.
    //   ORDER  acquire: pairs with [gate.leave].
    uint64_t now = impl_->word.fetch_or(kClosing, sync::kAcquire);
    if ((now & kRetired) != 0) {
        return Status(Code::kCancelled, Reason::kNamespaceNotFound, "the collection was dropped");
    }
    if (now >= kOneInside) {
        *token = impl_->emptied;
        return Status::wouldBlock();
    }
    impl_->emptied = {};
    return Status::ok();
}

void Gate::open() {
    std::lock_guard lock(impl_->mutex);
    // [gate.open] fetch_and  lets writers in.
    //   ORDER  release: pairs with [gate.enter]; they see the definition that we leave.
    impl_->word.fetch_and(~kClosing, sync::kRelease);
    impl_->wakeWriters();
}

void Gate::retire() {
    std::lock_guard lock(impl_->mutex);
    // [gate.retire] fetch_or  nothing gets in any more.
    //   ORDER  release: pairs with [gate.isRetired]; the flag comes after the change's commit.
    impl_->word.fetch_or(kRetired, sync::kRelease);
    impl_->word.fetch_and(~kClosing, sync::kRelaxed);  // waiters look again and find the flag
    impl_->wakeWriters();
}

bool Gate::isRetired() const {
    // [gate.isRetired] load.  ORDER  acquire: pairs with [gate.retire].
    return (impl_->word.load(sync::kAcquire) & kRetired) != 0;
}

Status GatePass::enter(const std::shared_ptr<Gate>& gate, sync::WaitToken* token) {
    if (gate_ != nullptr) {
        return Status::ok();
    }
    FRESHET_RETURN_IF_ERROR(gate->enter(token));
    gate_ = gate;
    return Status::ok();
}

void GatePass::release() {
    if (gate_ != nullptr) {
        gate_->leave();
        gate_.reset();
    }
}

}  // namespace freshet::catalog
