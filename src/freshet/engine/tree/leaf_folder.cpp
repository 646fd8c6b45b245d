// SPDX-License-Identifier: Apache-2.0
#include "freshet/engine/tree/leaf_folder.h"

#include "freshet/engine/node/leaf_merge.h"
#include "freshet/engine/tree/version_chain.h"
#include "freshet/engine/variants/mutant.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace freshet::engine {

using sync::kAcqRel;
using sync::kAcquire;
using sync::kRelaxed;

namespace {

/// Parts out of eight that stay on the left when the rightmost leaf splits: keys that rise will not
/// fill the left half again.
constexpr size_t kRightEdgeParts = 7;
constexpr size_t kHalf = 4;
/// When keys were appended, this part of a full page is enough for a leaf of its own: its contents
/// have then been copied once, and are not copied again.
constexpr size_t kAppendedParts = 3;

/// Whether the leaf's changes are keys above those it had, the youngest last.
bool isAppended(const FoldPlan& plan) {
    const KeyArray& base = plan.leaf->image.keys();
    const auto& entries = plan.entries;
    // What is carried is the youngest.
    if (entries.back().chain == nullptr || entries.size() <= base.size()) {
        return false;
    }
    const uint32_t count = base.size();
    return count == 0 || entries[count - 1].tail == base.tail(count - 1);
}

}  // namespace

void FoldPlan::add(ByteView tail, const std::optional<ValueRef>& base, Version* chain) {
    size_t size = LeafImage::entryBytes(tail.size(), base.value_or(ValueRef{}));
    if (chain != nullptr) {
        size += chain->pageBytes();
    }
    entries.push_back({tail, base, chain, size});
    bytes += size;
}

LeafNode* LeafFolder::newLeaf(ByteView low,
                              ByteView high,
                              std::span<const ByteView> tails,
                              std::span<const ValueRef> values,
                              block::PageBuffer page) const {
    auto* leaf = new LeafNode(low, high, nullptr, tails, values, std::move(page));
    leaf->rebuildAtBytes = env_.limits.deltaBytesMax;
    leaf->rebuildAtCount = env_.limits.deltaKeysMax;
    return leaf;
}

FoldPlan LeafFolder::fold(const LeafNode& leaf) const {
    const uint64_t minReadTs = mutated(Mutant::kFoldIgnoresReaders) ? UINT64_MAX : env_.minReadTs();
    FoldPlan plan;
    plan.leaf = &leaf;
    plan.prefixLen = leaf.prefixLen;
    // [leaf.count] relaxed: changes that come later only make the vectors grow again.
    const uint32_t changes = leaf.deltaCount.load(kRelaxed);
    plan.entries.reserve(leaf.image.keys().size() + changes);
    plan.folded.reserve(changes);
    mergeUp(leaf, nullptr, [&](ByteView tail, const std::optional<ValueRef>& base, auto* chain) {
        if (chain == nullptr) {
            plan.add(tail, base, nullptr);
        } else {
            foldKey(tail, base, *chain, minReadTs, &plan);
        }
        return true;
    });
    return plan;
}

bool LeafFolder::foldsWhole(const LeafNode& leaf) const {
    const uint64_t minReadTs = env_.minReadTs();
    return mergeUp(leaf, nullptr, [&](ByteView, const std::optional<ValueRef>&, auto* chain) {
        // [version.read] acquire: pairs with [version.push].
        const auto [newest, outcome] = newestOf(
            env_.txns, chain == nullptr ? nullptr : pointerOf<Version>(chain->load(kAcquire)));
        return newest == nullptr || (outcome.fate == Fate::kCommitted && outcome.ts <= minReadTs);
    });
}

bool LeafFolder::hasFoldable(const LeafNode& leaf) const {
    const uint64_t minReadTs = env_.minReadTs();
    return !mergeUp(leaf, nullptr, [&](ByteView, const std::optional<ValueRef>&, auto* chain) {
        if (chain == nullptr) {
            return true;
        }
        // [version.read] acquire: pairs with [version.push].
        const auto [newest, outcome] =
            newestOf(env_.txns, pointerOf<Version>(chain->load(kAcquire)));
        return newest != nullptr && (outcome.fate != Fate::kCommitted || outcome.ts > minReadTs);
    });
}

void LeafFolder::foldKey(ByteView tail,
                         const std::optional<ValueRef>& base,
                         const DeltaKey::Link& chain,
                         uint64_t minReadTs,
                         FoldPlan* plan) const {
    // [version.read] acquire: pairs with [version.push].
    auto* head = pointerOf<Version>(chain.load(kAcquire));
    const bool under = mutated(Mutant::kFoldUnderCarried);
    auto [newest, outcome] = newestOf(env_.txns, head);
    while (under && newest != nullptr && outcome.fate == Fate::kInFlight) {
        const Newest below = newestOf(env_.txns, newest->older.load(kAcquire));
        newest = below.version;
        outcome = below.outcome;
    }
    if (newest == nullptr) {
        plan->folded.push_back({head, nullptr});
        if (base) {
            plan->add(tail, base, nullptr);
        }
        return;
    }
    if (outcome.fate != Fate::kCommitted || outcome.ts > minReadTs) {
        plan->add(tail, base, head);
        return;
    }
    if (under && newest != head) {
        plan->folded.push_back({newest, newest});
        plan->add(tail, newest->isDelete() ? base : newest->value(), head);
        return;
    }
    plan->folded.push_back({head, newest});
    if (!newest->isDelete()) {
        plan->add(tail, newest->value(), nullptr);
    }
}

uint32_t LeafFolder::limitOf(uint32_t limit) const {
    // [tree.codecRead] relaxed: see there.
    if (codec.load(kRelaxed) == block::Codec::kNone) {
        return limit;
    }
    const uint64_t packed = uint64_t{limit} * env_.limits.packedLeafBytesMax;
    return static_cast<uint32_t>(packed / env_.limits.leafBytesMax);
}

size_t LeafFolder::cutOf(const FoldPlan& plan) const {
    const auto& entries = plan.entries;
    if (entries.size() < 2) {
        return 0;
    }
    const bool isRightEdge = plan.leaf->high.empty();
    if (isRightEdge && isAppended(plan)) {
        size_t end = entries.size() - 1;
        size_t bytes = plan.bytes - entries[end].bytes;
        for (; end > 1 && entries[end - 1].chain != nullptr; --end) {
            bytes -= entries[end - 1].bytes;
        }
        if (bytes >= limitOf(env_.limits.leafBytesMax) * kAppendedParts / 8) {
            return end;
        }
    }
    if (plan.bytes <= limitOf(env_.limits.leafBytesMax)) {
        return 0;
    }
    const size_t wanted = plan.bytes * (isRightEdge ? kRightEdgeParts : kHalf) / 8;
    size_t cut = 0;
    for (size_t bytes = 0; cut < entries.size() && bytes < wanted; ++cut) {
        bytes += entries[cut].bytes;
    }
    return std::min(std::max<size_t>(cut, 1), entries.size() - 1);
}

CellRange LeafFolder::cellsFor(const FoldPlan& plan, size_t begin) const {
    const auto& entries = plan.entries;
    const uint32_t sought = env_.limits.denseKeysMin;
    const ByteView last = entries.back().tail;
    if (sought == 0 || entries.size() < sought ||
        !areAppended(entries[entries.size() - sought].tail, last, sought)) {
        return {};
    }
    size_t first = entries.size();  // of those that are not in the base
    while (first > begin && !entries[first - 1].base) {
        --first;
    }
    const ByteView from = entries[first > begin ? first - 1 : begin].tail;
    if (!areAppended(from, last, env_.limits.deltaKeysMax)) {
        return {};
    }
    const uint64_t behind = keyHeadOf(from) + (first > begin ? 1 : 0);
    CellRange range = CellRange::behind(keyHeadOf(last), env_.limits.deltaKeysMax);
    range.count += static_cast<uint32_t>(range.first - behind);
    range.first = behind;
    return range;
}

LeafNode* LeafFolder::build(
    const FoldPlan& plan, size_t begin, size_t end, ByteView low, ByteView high) const {
    // Narrower fences share at least as much.
    const size_t prefixLen = fencePrefix(low, high);
    const size_t cut = prefixLen - plan.prefixLen;
    std::vector<ByteView> tails;
    std::vector<ValueRef> values;
    tails.reserve(end - begin);
    values.reserve(end - begin);
    for (size_t i = begin; i < end; ++i) {
        if (plan.entries[i].base) {
            tails.push_back(plan.entries[i].tail.substr(cut));
            values.push_back(*plan.entries[i].base);
        }
    }
    LeafNode* leaf = newLeaf(low, high, tails, values);
    size_t carriedBytes = 0;
    uint32_t carriedCount = 0;
    uint32_t basePos = 0;
    LeafDelta* delta = nullptr;
    for (size_t i = begin; i < end; ++i) {
        const FoldPlan::Entry& entry = plan.entries[i];
        if (entry.chain != nullptr) {
            if (delta == nullptr) {
                delta = leaf->beginDelta(env_.limits.bucketsMax,
                                         leaf->high.empty() ? cellsFor(plan, begin) : CellRange{});
            }
            if (entry.base && !mutated(Mutant::kCarriedUnsaid)) {
                leaf->noteChain(basePos);
            }
            delta->insertPrivate(
                entry.tail.substr(cut), {basePos, entry.base.has_value()}, entry.chain);
            carriedBytes += entry.bytes;
            ++carriedCount;
        }
        basePos += entry.base ? 1 : 0;
    }
    // [leaf.count] relaxed: published with the node by [entry.install].
    leaf->deltaBytes.store(static_cast<uint32_t>(carriedBytes), kRelaxed);
    leaf->deltaCount.store(carriedCount, kRelaxed);
    // Twice what had to be carried, so that a long transaction does not cause a rebuild at every
    // write.
    leaf->rebuildAtBytes =
        std::max(env_.limits.deltaBytesMax, static_cast<uint32_t>(2 * carriedBytes));
    leaf->rebuildAtCount = std::max(env_.limits.deltaKeysMax, 2 * carriedCount);
    return leaf;
}

void LeafFolder::retireFolded(const FoldPlan& plan) const {
    for (const FoldPlan::Folded& folded : plan.folded) {
        // The aborted versions above the keeper keep their links: a reader of the old leaf may
        // stand on one, and would otherwise fall through to the old base.
        Version* version = folded.head;
        while (version != folded.keeper) {
            // [older.read] acquire: pairs with [version.push].
            Version* below = mutated(Mutant::kTakeAbortedLinks)
                                 ? version->older.exchange(nullptr, kAcqRel)
                                 : version->older.load(kAcquire);
            retireVersion(env_, version);
            version = below;
        }
        retireVersionsFrom(env_, folded.keeper);
    }
}

}  // namespace freshet::engine
