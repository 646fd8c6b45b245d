// SPDX-License-Identifier: Apache-2.0
/// TreeCore: linking a version. Whether a write is allowed is judged on the chain's head; the
/// head's CAS proves that the judgement still holds.
#include "freshet/base/assert.h"
#include "freshet/engine/node/leaf_merge.h"
#include "freshet/engine/tree/tree_core.h"
#include "freshet/engine/variants/mutant.h"

namespace freshet::engine {

using sync::kAcquire;
using sync::kRelaxed;
using sync::kRelease;

struct TreeCore::Judgement {
    WriteResult::Kind kind = WriteResult::Kind::kDone;
    uint64_t other = 0;
    Version* newest = nullptr;  // the newest version that is not aborted
};

/// A large value's buffer, made before the descent begins, because its allocation may take a mutex.
/// So no value is copied a second time when an attempt is lost.
class TreeCore::NewValue {
public:
    NewValue(const WriteRequest& request, platform::Slabs* slabs) : value_{request.value} {
        if (value_.bytes.size() >= kLargeValueBytesMin) {
            value_.shared = ValueBuffer::create(value_.bytes, slabs);
        }
    }
    ~NewValue() {
        if (value_.shared != nullptr) {
            value_.shared->drop();
        }
    }
    NewValue(const NewValue&) = delete;
    NewValue& operator=(const NewValue&) = delete;
    const ValueRef& ref() const { return value_; }

private:
    ValueRef value_;
};

/// Where a key's change goes: to the front of a chain, or, if it has none, into a list.
struct TreeCore::Home {
    DeltaKey::Link* chain = nullptr;
    uintptr_t seen = 0;  // in `chain`, else in spot.link
    uint32_t basePos = DeltaKey::kNoBase;
    uint32_t bucket = 0;
    LeafDelta::Spot spot;

    Version* versions() const { return chain == nullptr ? nullptr : pointerOf<Version>(seen); }
};

WriteResult TreeCore::write(const WriteRequest& request) {
    using enum Attempt;
    const NewValue value(request, env_.slabs);
    for (;;) {
        const Descent descent = descend(toChange(request.key));
        if (descent.node->isOnDisk) {
            return {WriteResult::Kind::kOnDisk, nullptr, 0, faultOf(descent)};
        }
        auto* leaf = static_cast<LeafNode*>(descent.node);
        leaf->touch();
        WriteResult result;
        const Attempt attempt = tryWrite(descent.entry, leaf, request, value, &result);
        if (attempt == kFrozen) {
            rebuild(descent.entry, leaf);
            continue;
        }
        if (attempt == kLost) {
            continue;
        }
        if (attempt == kDone) {
            if (account(leaf, request.key.size() + result.version->pageBytes())) {
                rebuild(descent.entry, leaf);
            }
        }
        descent.hold.end();
        repair(descent);
        return result;
    }
}

TreeCore::Home TreeCore::homeOf(const LeafNode& leaf, LeafDelta* delta, const PageKey& key) {
    Home home;
    home.chain = delta->cellOf(key);
    if (home.chain == nullptr) {
        const KeyArray::Position at = leaf.image.keys().lowerBound(key);
        home.basePos = at.exact ? at.pos : DeltaKey::kNoBase;
        home.bucket = delta->bucketOf(at.pos);
        home.spot = delta->find(home.bucket, key);
        home.chain = home.spot.key == nullptr ? nullptr : &home.spot.key->ver;
    }
    // [version.read] acquire: pairs with [version.push].
    home.seen = home.chain == nullptr ? home.spot.word : home.chain->load(kAcquire);
    return home;
}

TreeCore::Attempt TreeCore::tryWrite(PageEntry* entry,
                                     LeafNode* leaf,
                                     const WriteRequest& request,
                                     const NewValue& value,
                                     WriteResult* result) {
    leaf->prefetch();
    // [leaf.frozen] relaxed: a hint that saves work; the marks decide.
    if (leaf->ctl.load(kRelaxed) == LeafNode::kFrozen) {
        return Attempt::kFrozen;
    }
    LeafDelta* delta = leaf->deltaForWrite(env_.limits);
    if (delta == nullptr) {
        return Attempt::kFrozen;
    }
    const PageKey place = leaf->pageKey(request.key);
    const Home home = homeOf(*leaf, delta, place);
    if (isMarked(home.seen)) {
        return Attempt::kFrozen;
    }
    const Judgement judgement = judge(request, home.versions(), baseAt(*leaf, home.basePos));
    if (judgement.kind != WriteResult::Kind::kDone) {
        *result = {judgement.kind, nullptr, judgement.other, {}};
        return Attempt::kRefused;
    }
    const bool shared = request.value.size() >= env_.limits.sharedValueBytesMin;
    Version* fresh = Version::create(request.op, value.ref(), shared, request.stamp);
    if (!mutated(Mutant::kMarkOnlyAfter)) {
        setDirty(entry);
    }
    bool linked = false;
    if (home.chain != nullptr) {
        linked = pushVersion(env_, home.chain, home.seen, fresh, judgement.newest);
    } else {
        if (home.basePos != DeltaKey::kNoBase && !mutated(Mutant::kChainUnsaid)) {
            leaf->noteChain(home.basePos);
        }
        const unsigned height = delta->heightFor(home.bucket, place.tail);
        linked = insertKey(delta,
                           home.bucket,
                           home.spot,
                           DeltaKey::create(place.tail, home.basePos, height, fresh));
    }
    if (!linked) {
        Version::destroy(fresh);
        return Attempt::kLost;
    }
    if (!mutated(Mutant::kMarkOnlyBefore)) {
        // Again: a scan that took the first mark may have missed the version. This is Dekker's
        // scheme with the checkpoint: it takes the mark, has a fence, scans; we link, have a fence,
        // look.
        sync::heavyFence();
        setDirty(entry);
    }
    *result = {WriteResult::Kind::kDone, fresh, 0, {}};
    return Attempt::kDone;
}

void TreeCore::setDirty(PageEntry* entry) {
    // [mark.peek] relaxed: as [mark.look]; saves commitLow(), which walks over all participants.
    if (entry->recLsn.load(kRelaxed) == 0 && entry->markIfClean(env_.commitLow())) {
        // [stats.add] relaxed: a statistic.
        env_.dirtyPages.fetch_add(1, kRelaxed);
    }
}

TreeCore::Judgement TreeCore::judge(const WriteRequest& request,
                                    Version* chain,
                                    const std::optional<ValueRef>& base) const {
    using Kind = WriteResult::Kind;
    Judgement result;
    const auto [newest, outcome] = newestOf(env_.txns, chain);
    result.newest = newest;
    if (request.kind == WriteKind::kReplay) {
        return result;
    }
    if (request.kind == WriteKind::kErase && !visible(env_.txns, chain, request.view, base)) {
        result.kind = Kind::kNotFound;
        return result;
    }
    const bool others = newest != nullptr && outcome.fate == Fate::kInFlight &&
                        outcome.stamp != request.view.ownStamp;
    if (others) {
        result.kind = Kind::kBusy;
        result.other = outcome.stamp;
        return result;
    }
    const bool live = newest != nullptr ? !newest->isDelete() : base.has_value();
    if (request.kind == WriteKind::kInsert && live) {
        result.kind = Kind::kExists;
    } else if (newest != nullptr && outcome.fate == Fate::kCommitted &&
               !request.view.sees(outcome.ts)) {
        result.kind = Kind::kConflict;
        result.other = outcome.ts;
    }
    return result;
}

bool TreeCore::insertKey(LeafDelta* delta,
                         uint32_t bucket,
                         const LeafDelta::Spot& spot,
                         DeltaKey* key) {
    // [delta.own] relaxed: published by [delta.insert].
    key->next(0).store(spot.word, kRelaxed);
    uintptr_t expected = spot.word;
    // [delta.insert] CAS; LINEARIZES the first change of a key in this leaf.
    //   ORDER    release pairs with [delta.read], [delta.mark]: the key and its version are
    //            complete. Relaxed on failure: everything is read again.
    //   LOST     another key came between, or the leaf is frozen: look again.
    //   PROGRESS lock-free, as [version.push].
    if (!spot.link->compare_exchange_strong(
            expected, wordOf(key), mutated(Mutant::kRelaxedPush) ? kRelaxed : kRelease, kRelaxed)) {
        DeltaKey::destroy(key);
        return false;
    }
    if (bucket + 1 == delta->buckets()) {
        delta->linkAbove(spot, key);
    }
    return true;
}

bool TreeCore::account(LeafNode* leaf, size_t bytes) {
    // [leaf.count] relaxed: a threshold; two writers may both find it passed, or one late.
    const auto added = static_cast<uint32_t>(bytes);
    const uint32_t total = leaf->deltaBytes.fetch_add(added, kRelaxed) + added;
    const uint32_t count = leaf->deltaCount.fetch_add(1, kRelaxed) + 1;
    return total >= leaf->rebuildAtBytes || count >= leaf->rebuildAtCount;
}

}  // namespace freshet::engine
