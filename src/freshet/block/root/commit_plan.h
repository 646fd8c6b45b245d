// SPDX-License-Identifier: Apache-2.0
/// What a commit is going to write.
#pragma once

#include "freshet/block/block_file.h"
#include "freshet/block/root/page_map.h"
#include "freshet/block/root/superblock_format.h"

#include <optional>
#include <vector>

namespace freshet::block {

struct CommitPlan {
    /// One of the caller's changes that changes something.
    struct Planned {
        const BlockFile::Change* change;
        Extent before;  // of the image that goes; blocks == 0: none does
    };

    Superblock next;
    std::vector<Planned> changes;                // by page
    std::vector<const BlockFile::Change*> late;  // of those, images that no flush has covered
    uint64_t pagesAfter = 0;                     // in the map when they are applied
    std::vector<Extent> taken;                   // by the runs
    std::optional<RunIndex> base;                // the map's new runs, at most one of them
    std::optional<RunIndex> delta;
};

}  // namespace freshet::block
