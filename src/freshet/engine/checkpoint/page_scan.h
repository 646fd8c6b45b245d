// SPDX-License-Identifier: Apache-2.0
/// Makes a page's image from the live page (docs/design/engine.md, "Checkpoint"): the base plus the
/// newest committed version of each key, whatever the clock says. No other thread stops; what a
/// scan misses or finds undecided keeps a mark on the page.
#pragma once

#include "freshet/engine/tree/page_tree.h"

#include <string>
#include <vector>

namespace freshet::engine {

/// A value that must have its page before an image names it. Holds a reference.
struct LargeValue {
    ValueBuffer* buffer;
    PageId page;
};

struct PageScan {
    PageEntry* entry = nullptr;
    std::string image;
    uint64_t note = 0;                    // of a leaf (page/leaf_note.h)
    std::vector<PageEntry*> unwritten;    // named by the image, but have no image of their own
    std::vector<LargeValue> largeValues;  // named by the image, not written yet
};

/// Takes the page's mark and scans it. One thread per tree at a time. REQUIRES: an open slice, for
/// this call only. The caller either settles the mark, once the next checkpoint will name the
/// image, or leaves it pending. The image uses `memory` if that is large enough.
PageScan scanPage(TreeEnv& env, PageTree& tree, PageEntry* entry, std::string memory);

}  // namespace freshet::engine
