// SPDX-License-Identifier: Apache-2.0
/// A file of its own, because the crash tests build it a second time with the pages' marks ignored,
/// and must notice that.
#include "freshet/engine/recovery/redo.h"

#include "freshet/engine/variants/mutant.h"

#include <algorithm>

namespace freshet::engine {

uint64_t redoLsn(TreeEnv& env,
                 uint64_t last,
                 const std::function<std::vector<PageTree*>()>& trees) {
    // commitLow() comes before the marks, and before the list of trees: a commit that marks a page,
    // or makes one, after this walk has passed was not complete at that time.
    uint64_t redo = mutated(Mutant::kRedoLowAfterMarks) ? UINT64_MAX : env.commitLow();
    for (PageTree* tree : trees()) {
        tree->images().forEachInMemory([&](const PageEntry& entry) {
            const uint64_t mark = mutated(Mutant::kRedoTooHigh) ? 0 : entry.effectiveLsn();
            redo = mark == 0 ? redo : std::min(redo, mark);
        });
    }
    redo = mutated(Mutant::kRedoLowAfterMarks) ? std::min(redo, env.commitLow()) : redo;
    // A leaf that is not in memory may have a mark from a writer that came too late
    // (INV-engine-17). If the leaf is brought back, that mark is old and carries no information:
    // the image had everything, and what is written from then on lies behind every earlier
    // position. The journal before the last position may be gone.
    return mutated(Mutant::kRedoGoesBack) ? redo : std::max(redo, last);
}

}  // namespace freshet::engine
