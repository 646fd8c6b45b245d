// SPDX-License-Identifier: Apache-2.0
/// Finds a thread's participant in a domain. Domains and threads end in any order: a domain is
/// known by an id that never repeats, and a global list says which are alive.
#include "freshet/base/assert.h"
#include "freshet/sync/reclaim/epoch_state.h"

#include <algorithm>
#include <mutex>

namespace freshet::sync {
namespace {

/// Domains alive in this process. Lock order: this mutex, then a domain's.
struct LiveDomains {
    Mutex mutex;
    std::vector<uint64_t> ids;  // guarded by mutex

    bool has(uint64_t id) const { return std::find(ids.begin(), ids.end(), id) != ids.end(); }
};

LiveDomains& liveDomains() {
    // Never destroyed: threads may end after static objects.
    static auto& domains = *new LiveDomains;
    return domains;
}

}  // namespace

/// One thread's participants.
struct EpochDomain::Impl::Memberships {
    struct Entry {
        uint64_t id = 0;  // of the domain; 0 matches none
        Impl* state = nullptr;
        Participant* participant = nullptr;
    };
    Entry last;  // the last one used: nearly always the right one
    std::vector<Entry> all;

    ~Memberships() {
        std::lock_guard<Mutex> lock(liveDomains().mutex);
        for (Entry& entry : all) {
            if (liveDomains().has(entry.id)) {
                entry.state->part(entry.participant);
            }
        }
    }

    /// Not inlined: here() is called twice for each read and stays short without it.
    [[gnu::noinline]] Participant& find(Impl& state) {
        for (Entry& entry : all) {
            if (entry.id == state.id) {
                last = entry;
                return *entry.participant;
            }
        }
        {
            // Entries of dead domains are dropped when a new one is added, so there are few.
            std::lock_guard<Mutex> lock(liveDomains().mutex);
            std::erase_if(all, [](const Entry& entry) { return !liveDomains().has(entry.id); });
        }
        last = {state.id, &state, state.join()};
        all.push_back(last);
        return *last.participant;
    }
};

EpochDomain::Impl::Memberships& EpochDomain::Impl::ofThisThread() {
#ifdef FRESHET_EXPLORE
    if (AtomicObserver* observer = atomicObserver()) {
        // Owned by the virtual thread and ended with it.
        void** slot =
            observer->threadSlot([](void* old) { delete static_cast<Memberships*>(old); });
        if (*slot == nullptr) {
            *slot = new Memberships;
        }
        return *static_cast<Memberships*>(*slot);
    }
#endif
    static thread_local Memberships memberships;
    return memberships;
}

Participant& EpochDomain::here() {
    Impl::Memberships& mine = Impl::ofThisThread();
    return mine.last.id == impl_->id ? *mine.last.participant : mine.find(*impl_);
}

void EpochDomain::announce() {
    std::lock_guard<Mutex> lock(liveDomains().mutex);
    liveDomains().ids.push_back(impl_->id);
}

void EpochDomain::renounce() {
    std::lock_guard<Mutex> lock(liveDomains().mutex);
    std::erase(liveDomains().ids, impl_->id);
}

}  // namespace freshet::sync
