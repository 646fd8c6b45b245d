// SPDX-License-Identifier: Apache-2.0
/// Making a page's image from the live page (reconcile, DESIGN 7.2): base plus the newest committed
/// version of each key, whatever the clock says. Nobody is stopped; what a scan misses or finds
/// undecided leaves its mark on the page.
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
    std::vector<PageEntry*> unwritten;    // named by the image, without an image of their own
    std::vector<LargeValue> largeValues;  // named by the image, not written yet
};

/// Takes the page's mark and scans it. One thread per tree and time. REQUIRES: an open slice, for
/// this call only. The caller either settles the mark, when the image will be named by the next
/// checkpoint, or leaves it pending.
/// The image lies in `memory` if that is enough.
PageScan scanPage(TreeEnv& env, PageTree& tree, PageEntry* entry, std::string memory);

}  // namespace freshet::engine
