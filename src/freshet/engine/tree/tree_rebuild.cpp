// SPDX-License-Identifier: Apache-2.0
/// TreeCore: replaces a leaf by what it folds to, in one CAS. Any number of threads may do it at
/// once.
#include "freshet/base/assert.h"
#include "freshet/engine/tree/tree_core.h"

namespace freshet::engine {

using sync::kAcquire;
using sync::kRelaxed;

void TreeCore::rebuild(PageEntry* entry, LeafNode* leaf) {
    // [entry.read] acquire: pairs with [entry.install].
    if (entry->word.load(kAcquire) != leaf) {
        return;  // another thread has replaced it
    }
    if (leaf->isLeaving) {
        finishMerge(entry, leaf);
        return;
    }
    leaf->freeze();
    const FoldPlan plan = leaves_.fold(*leaf);
    bool installed = false;
    const size_t cut = leaves_.cutOf(plan);
    if (cut == 0) {
        LeafNode* fresh = leaves_.build(plan, 0, plan.entries.size(), leaf->low, leaf->high);
        fresh->right = standInOf(leaf->right);
        installed = install(entry, leaf, fresh);
        if (!installed) {
            destroyNode(fresh);
        }
    } else {
        installed = splitLeaf(entry, leaf, plan, cut);
    }
    if (installed) {
        leaves_.retireFolded(plan);
        // [stats.add] relaxed: a statistic.
        env_.rebuilds.fetch_add(1, kRelaxed);
    }
}

void TreeCore::foldRested(PageEntry* entry) {
    Node* node = nodeOf(*entry);
    // A mark says that a writer is at work here, which a rebuild would hold up. A writer that comes
    // later finishes this rebuild itself, like any other.
    if (!node->isLeaf() || entry->effectiveLsn() != 0) {
        return;
    }
    auto* leaf = static_cast<LeafNode*>(node);
    if (leaf->deltaForRead() != nullptr && leaves_.hasFoldable(*leaf)) {
        rebuild(entry, leaf);
    }
}

}  // namespace freshet::engine
