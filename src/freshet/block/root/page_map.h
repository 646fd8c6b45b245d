// SPDX-License-Identifier: Apache-2.0
/// The page map of the newest durable checkpoint. It stays on the disk, in its runs; in memory is
/// what finds a page's entry there and tells whether that is what was written. Threads: one writes,
/// or any read.
///
/// Its runs can be read as long as it is the newest: nothing is written over them before a commit
/// that replaces them is settled (INV-block-1), and then this one holds that commit's.
#pragma once

#include "freshet/base/status.h"
#include "freshet/block/block_file.h"
#include "freshet/block/root/run_index.h"
#include "freshet/block/root/superblock_format.h"
#include "freshet/platform/file.h"

#include <functional>
#include <string>
#include <vector>

namespace freshet::block {

class PageMap {
public:
    PageMap() = default;
    /// Reads and checks all runs that the superblock names. kCorruption when one is not whole; the
    /// text does not name the file. How many pages there are is for the caller to find out.
    static StatusOr<PageMap> load(platform::File& file,
                                  const std::string& path,
                                  const Superblock& superblock);

    /// A page that is looked for, and its place; blocks == 0: it has none.
    struct Wanted {
        PageId page = 0;
        PagePlace place;
        bool isFound = false;  // in a run, if only as one that is gone
    };
    /// Fills in the places. `wanted` in rising page id order. Reads those blocks that can have one
    /// of the pages, each once. kCorruption names file and offset.
    Status find(platform::File& file, std::vector<Wanted>* wanted) const;
    /// Every page, in page id order. Of its own failures kCorruption names file and offset.
    Status forEach(platform::File& file,
                   const std::function<Status(PageId, const PagePlace&)>& sink) const;

    uint64_t pages() const { return pages_; }
    void setPages(uint64_t pages) { pages_ = pages; }
    /// All runs but this one are replaced by it.
    void setBase(RunIndex base);
    void addDelta(RunIndex delta) { runs_.push_back(std::move(delta)); }
    uint64_t memoryBytes() const;

private:
    std::string path_;
    std::vector<RunIndex> runs_;  // oldest first
    uint64_t pages_ = 0;
};

}  // namespace freshet::block
