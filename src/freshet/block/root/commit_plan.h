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
    /// A change of the caller's that has an effect.
    struct Planned {
        const BlockFile::Change* change;
        Extent before;  // place of the image that is replaced; blocks == 0: none
    };

    Superblock next;
    std::vector<Planned> changes;                // by page
    std::vector<const BlockFile::Change*> late;  // those of the changes whose images no flush has
                                                 // covered
    uint64_t pagesAfter = 0;                     // in the map after the changes
    std::vector<Extent> taken;                   // by the runs
    std::optional<RunIndex> base;                // the map's new runs, at most one of them
    std::optional<RunIndex> delta;
};

}  // namespace freshet::block
