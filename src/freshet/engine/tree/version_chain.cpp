// SPDX-License-Identifier: Apache-2.0
#include "freshet/engine/tree/version_chain.h"

#include "freshet/engine/variants/mutant.h"

#include <bit>

namespace freshet::engine {

using sync::kAcqRel;
using sync::kAcquire;
using sync::kRelaxed;
using sync::kRelease;

Newest newestOf(const TxnTable& txns, Version* chain) {
    // [older.read] acquire: pairs with [version.push].
    for (Version* v = chain; v != nullptr; v = v->older.load(kAcquire)) {
        const Outcome outcome = txns.resolve(v->stamp);
        if (outcome.fate != Fate::kAborted) {
            return {v, outcome};
        }
    }
    return {nullptr, {}};
}

std::optional<ValueRef> visible(const TxnTable& txns,
                                const Version* chain,
                                const View& view,
                                const std::optional<ValueRef>& base) {
    // [older.read] acquire: pairs with [version.push]. A link that trim() took is either below a
    // version at which every snapshot stops, or above it below an aborted one that keeps its link.
    for (const Version* v = chain; v != nullptr; v = v->older.load(kAcquire)) {
        const Outcome outcome = txns.resolve(v->stamp);
        const bool mine = outcome.fate == Fate::kInFlight && outcome.stamp == view.ownStamp;
        if (mine || (outcome.fate == Fate::kCommitted && view.sees(outcome.ts))) {
            if (v->isDelete()) {
                return std::nullopt;
            }
            return v->value();
        }
    }
    // Anything newer than minReadTs keeps its chain, so the base is visible to every snapshot.
    return base;
}

namespace {

/// Takes what no snapshot needs from the chain below `newest`. Returns how many versions are above
/// the one at which every snapshot stops.
uint32_t trim(TreeEnv& env, Version* newest) {
    const uint64_t minReadTs = env.minReadTs();
    uint32_t above = 0;
    // [older.read] acquire: pairs with [version.push].
    for (Version* v = newest; v != nullptr; v = v->older.load(kAcquire), ++above) {
        const Outcome outcome = env.txns.resolve(v->stamp);
        if (outcome.fate == Fate::kCommitted && outcome.ts <= minReadTs) {
            // [older.take] acq_rel: acquire pairs with [version.push]; a thread that exchanges a
            // link owns what the link led to, so nothing is retired twice.
            retireVersionsFrom(env, v->older.exchange(nullptr, kAcqRel));
            if (mutated(Mutant::kTrimTakesKeeper)) {
                retireVersion(env, v);
            }
            return above;
        }
    }
    return above;
}

}  // namespace

bool pushVersion(
    TreeEnv& env, DeltaKey::Link* chain, uintptr_t seen, Version* fresh, Version* newest) {
    uint32_t depth = newest == nullptr ? 0 : newest->depth + 1;
    if (depth >= env.limits.trimDepthMin && std::has_single_bit(depth)) {
        depth = trim(env, newest) + 1;
    }
    fresh->depth = depth;
    // [older.set] relaxed: published by [version.push].
    fresh->older.store(newest, kRelaxed);
    uintptr_t expected = seen;
    // [version.push] CAS; LINEARIZES an update, and the first change of a record id with a cell.
    //   ORDER    release pairs with [version.read], [version.mark], [older.read]: the version is
    //            complete. Relaxed on failure: everything is read again.
    //   LOST     another writer pushed, or the leaf is frozen: look again.
    //   PROGRESS lock-free: our failure is another's success, or a rebuild that we then finish.
    if (!chain->compare_exchange_strong(expected,
                                        wordOf(fresh),
                                        mutated(Mutant::kRelaxedPush) ? kRelaxed : kRelease,
                                        kRelaxed)) {
        return false;
    }
    // The aborted versions passed over are ours to retire; their links stay, since a reader may
    // stand on them.
    for (auto* aborted = pointerOf<Version>(seen); aborted != newest;) {
        // [older.read] acquire: pairs with [version.push].
        Version* below = aborted->older.load(kAcquire);
        retireVersion(env, aborted);
        aborted = below;
    }
    return true;
}

void retireVersion(TreeEnv& env, Version* version) {
    env.retire(version, Version::destroyErased, version->weight());
}

uint32_t retireVersionsFrom(TreeEnv& env, Version* version) {
    uint32_t count = 0;
    while (version != nullptr) {
        // [older.take] acq_rel: as in trim().
        Version* below = version->older.exchange(nullptr, kAcqRel);
        retireVersion(env, version);
        version = below;
        ++count;
    }
    return count;
}

}  // namespace freshet::engine
