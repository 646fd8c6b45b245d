// SPDX-License-Identifier: Apache-2.0
/// The page map of the newest durable checkpoint. It stays on the disk, in its runs; in memory is
/// an index that finds a page's entry there and verifies it. Threads: one writes, or any read.
///
/// Its runs can be read while the checkpoint is the newest: they are not overwritten before a
/// commit that replaces them is settled (INV-block-1), and by then this map holds that commit's
/// runs.
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
    /// text does not name the file. The caller counts the pages.
    static StatusOr<PageMap> load(platform::File& file,
                                  const std::string& path,
                                  const Superblock& superblock);

    /// A requested page and its place; blocks == 0: it has none.
    struct Wanted {
        PageId page = 0;
        PagePlace place;
        bool isFound = false;  // in a run, possibly as a tombstone
    };
    /// Fills in the places. `wanted` in rising page id order. Reads the blocks that can hold one of
    /// the pages, each once. kCorruption names file and offset.
    Status find(platform::File& file, std::vector<Wanted>* wanted) const;
    /// Calls `sink` for every page, in page id order. Its own kCorruption names file and offset.
    Status forEach(platform::File& file,
                   const std::function<Status(PageId, const PagePlace&)>& sink) const;

    uint64_t pages() const { return pages_; }
    void setPages(uint64_t pages) { pages_ = pages; }
    /// Replaces all runs by this one.
    void setBase(RunIndex base);
    void addDelta(RunIndex delta) { runs_.push_back(std::move(delta)); }
    uint64_t memoryBytes() const;

private:
    std::string path_;
    std::vector<RunIndex> runs_;  // oldest first
    uint64_t pages_ = 0;
};

}  // namespace freshet::block
