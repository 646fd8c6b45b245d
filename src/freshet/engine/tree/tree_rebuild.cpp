// SPDX-License-Identifier: Apache-2.0
/// PageTree: freeze a leaf, fold what every snapshot agrees on into a new base, carry the rest, and
/// install the result by one CAS (DESIGN 3.6). Any number of threads may do it at once.
#include "freshet/base/assert.h"
#include "freshet/engine/tree/leaf_merge.h"
#include "freshet/engine/tree/page_tree.h"
#include "freshet/engine/tree/tree_plan.h"

#include <algorithm>

namespace freshet::engine {

using sync::kAcqRel;
using sync::kAcquire;
using sync::kRelaxed;
using sync::kRelease;

void PageTree::Plan::add(ByteView tail, const std::optional<ValueRef>& base, Version* chain) {
    size_t size = LeafImage::entryBytes(tail.size(), base.value_or(ValueRef{}));
    if (chain != nullptr) {
        size += chain->pageBytes();
    }
    entries.push_back({tail, base, chain, size});
    bytes += size;
}

namespace {

/// Marks a link and returns what it leads to, for good.
uintptr_t freezeLink(DeltaKey::Link& link, bool mark) {
    // [version.mark] acq_rel: acquire pairs with [version.push]; release: later pushes fail.
    // [delta.mark] acq_rel: acquire pairs with [delta.insert]; release: later inserts fail.
    return mark ? link.fetch_or(kMark, kAcqRel) : link.load(kAcquire);
}

}  // namespace

void PageTree::freeze(LeafNode* leaf) {
    // [leaf.freeze] relaxed: see [leaf.frozen].
    leaf->ctl.store(LeafNode::kFrozen, kRelaxed);
    auto* delta = pointerOf<LeafDelta>(freezeLink(leaf->delta, true));
    for (uint32_t b = 0; delta != nullptr && b < delta->buckets(); ++b) {
        // Each link is marked before the key behind it is visited: nothing is inserted behind us.
        auto* key =
            pointerOf<DeltaKey>(freezeLink(delta->head(b), !mutated(Mutant::kNoBucketMark)));
        while (key != nullptr) {
            auto* next =
                pointerOf<DeltaKey>(freezeLink(key->next(0), !mutated(Mutant::kNoNextMark)));
            freezeLink(key->ver, !mutated(Mutant::kNoVersionMark));
            key = next;
        }
    }
    for (uint32_t i = 0; delta != nullptr && i < delta->cells(); ++i) {
        freezeLink(delta->cell(i), !mutated(Mutant::kNoCellMark));
    }
}

void PageTree::rebuild(PageEntry* entry, LeafNode* leaf) {
    // [entry.read] acquire: pairs with [entry.install].
    if (entry->word.load(kAcquire) != leaf) {
        return;  // another thread has replaced it
    }
    if (leaf->isLeaving) {
        handOver(entry, leaf);
        return;
    }
    freeze(leaf);
    const Plan plan = fold(leaf);
    bool installed = false;
    const size_t cut = cutOf(plan);
    if (cut == 0) {
        LeafNode* fresh = build(plan, 0, plan.entries.size(), leaf->low, leaf->high);
        fresh->right = standIn(leaf->right);
        installed = install(entry, leaf, fresh);
        if (!installed) {
            destroyNode(fresh);
        }
    } else {
        installed = splitLeaf(entry, leaf, plan, cut);
    }
    if (installed) {
        retireFolded(plan);
        // [stats.add] relaxed: a statistic.
        env_.rebuilds.fetch_add(1, kRelaxed);
    }
}

PageTree::Plan PageTree::fold(LeafNode* leaf) {
    const uint64_t minReadTs = mutated(Mutant::kFoldIgnoresReaders) ? UINT64_MAX : env_.minReadTs();
    Plan plan;
    plan.leaf = leaf;
    plan.prefixLen = leaf->prefixLen;
    // [leaf.count] relaxed: what may still come costs a longer way round.
    const uint32_t changes = leaf->deltaCount.load(kRelaxed);
    plan.entries.reserve(leaf->image.keys().size() + changes);
    plan.folded.reserve(changes);
    mergeUp(*leaf, nullptr, [&](ByteView tail, const std::optional<ValueRef>& base, auto* chain) {
        if (chain == nullptr) {
            plan.add(tail, base, nullptr);
        } else {
            foldKey(tail, base, *chain, minReadTs, &plan);
        }
        return true;
    });
    return plan;
}

bool PageTree::hasFoldable(const LeafNode& leaf) {
    const uint64_t minReadTs = env_.minReadTs();
    return !mergeUp(leaf, nullptr, [&](ByteView, const std::optional<ValueRef>&, auto* chain) {
        if (chain == nullptr) {
            return true;
        }
        // [version.read] acquire: pairs with [version.push].
        const auto [newest, outcome] = newestOf(pointerOf<Version>(chain->load(kAcquire)));
        return newest != nullptr && (outcome.fate != Fate::kCommitted || outcome.ts > minReadTs);
    });
}

void PageTree::foldRested(PageEntry* entry) {
    Node* node = nodeOf(*entry);
    // A mark says that somebody writes here, who would be held up. That one who comes later is, and
    // finishes this rebuild himself, is as with any other.
    if (!node->isLeaf() || entry->effectiveLsn() != 0) {
        return;
    }
    auto* leaf = static_cast<LeafNode*>(node);
    if (leaf->deltaForRead() != nullptr && hasFoldable(*leaf)) {
        rebuild(entry, leaf);
    }
}

void PageTree::foldKey(ByteView tail,
                       const std::optional<ValueRef>& base,
                       const DeltaKey::Link& chain,
                       uint64_t minReadTs,
                       Plan* plan) {
    // [version.read] acquire: pairs with [version.push].
    auto* head = pointerOf<Version>(chain.load(kAcquire));
    const bool under = mutated(Mutant::kFoldUnderCarried);
    auto [newest, outcome] = newestOf(head);
    while (under && newest != nullptr && outcome.fate == Fate::kInFlight) {
        const Newest below = newestOf(newest->older.load(kAcquire));
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

CellRange PageTree::cellsFor(const Plan& plan, size_t begin) const {
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

LeafNode* PageTree::build(const Plan& plan, size_t begin, size_t end, ByteView low, ByteView high) {
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
        const Plan::Entry& entry = plan.entries[i];
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
    // Twice what had to be carried, lest a long transaction cause a rebuild at every write.
    leaf->rebuildAtBytes =
        std::max(env_.limits.deltaBytesMax, static_cast<uint32_t>(2 * carriedBytes));
    leaf->rebuildAtCount = std::max(env_.limits.deltaKeysMax, 2 * carriedCount);
    return leaf;
}

void PageTree::retireVersion(Version* version) {
    env_.retire(version, Version::destroyErased, version->weight());
}

uint32_t PageTree::retireFrom(Version* version) {
    uint32_t count = 0;
    while (version != nullptr) {
        // [older.take] acq_rel: as in trim().
        Version* below = version->older.exchange(nullptr, kAcqRel);
        retireVersion(version);
        version = below;
        ++count;
    }
    return count;
}

void PageTree::retireFolded(const Plan& plan) {
    for (const Plan::Folded& folded : plan.folded) {
        // The aborted versions above the keeper keep their links: a reader of the old leaf may
        // stand on one, and would else fall through to the old base.
        Version* version = folded.head;
        while (version != folded.keeper) {
            // [older.read] acquire: pairs with [version.push].
            Version* below = mutated(Mutant::kTakeAbortedLinks)
                                 ? version->older.exchange(nullptr, kAcqRel)
                                 : version->older.load(kAcquire);
            retireVersion(version);
            version = below;
        }
        retireFrom(folded.keeper);
    }
}

void PageTree::rebuildForTest(ByteView key) {
    const Descent descent = descend({.key = key});
    if (descent.node->isLeaf()) {
        rebuild(descent.entry, static_cast<LeafNode*>(descent.node));
    }
}

}  // namespace freshet::engine
