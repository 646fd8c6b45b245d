// SPDX-License-Identifier: Apache-2.0
/// Alone in its file, because the crash tests build it a second time with the pages' marks ignored
/// and must notice.
#include "freshet/engine/recovery/redo.h"

#include <algorithm>

namespace freshet::engine {

uint64_t redoLsn(TreeEnv& env,
                 uint64_t last,
                 const std::function<std::vector<PageTree*>()>& trees) {
    // The low comes before the marks, and before the list of trees: whoever marks a page, or makes
    // one, after we have passed there was not complete then.
    uint64_t redo = mutated(Mutant::kRedoLowAfterMarks) ? UINT64_MAX : env.commitLow();
#ifdef FRESHET_MUTANT_REDO_TOO_HIGH
    static_cast<void>(trees);
#else
    for (PageTree* tree : trees()) {
        tree->forEachInMemory([&](const PageEntry& entry) {
            const uint64_t mark = entry.effectiveLsn();
            redo = mark == 0 ? redo : std::min(redo, mark);
        });
    }
#endif
    redo = mutated(Mutant::kRedoLowAfterMarks) ? std::min(redo, env.commitLow()) : redo;
    // A leaf that is not in memory may have a mark of a writer who came too late (INV-engine-17).
    // It is old when somebody brings the leaf back, and says nothing new: the image had all, and
    // what is written from then on is behind every position that there was. The journal before the
    // last one may be gone.
    return mutated(Mutant::kRedoGoesBack) ? redo : std::max(redo, last);
}

}  // namespace freshet::engine
