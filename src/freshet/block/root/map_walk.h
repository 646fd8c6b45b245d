// SPDX-License-Identifier: Apache-2.0
/// Walks the runs of a page map together, in page id order: the newest entry of each page, skipping
/// pages whose newest entry is a tombstone. One thread.
#pragma once

#include "freshet/base/status.h"
#include "freshet/block/block_file.h"
#include "freshet/block/page_buffer.h"
#include "freshet/block/root/run_index.h"
#include "freshet/platform/file.h"

#include <vector>

namespace freshet::block {

class MapWalk {
public:
    /// `runs`: oldest first; they and the file must outlive this and must not change.
    MapWalk(platform::File& file, const std::vector<RunIndex>& runs);
    /// To the next page; the first call to the first. After a failure the walk is over.
    Status next();
    bool isAtEnd() const { return isAtEnd_; }
    PageId page() const { return page_; }
    const PagePlace& place() const { return place_; }

private:
    /// One of the runs, and the position in it.
    struct Source {
        const RunIndex* run;
        size_t pieceAfter = 0;  // the first that has not been read
        PageBuffer buffer;
        EntryList entries;  // in it
        size_t at = 0;      // in them
    };
    /// Order of the heap: by page; among entries of one page the newest is first.
    struct IsLater {
        const std::vector<Source>& sources;
        bool operator()(size_t a, size_t b) const;
    };

    Status begin();
    /// Advances in the source that is first.
    Status advanceFirst();
    /// Reads more if everything read so far is used.
    Status fill(Source* source);
    static bool isOver(const Source& source) { return source.at == source.entries.size(); }

    platform::File& file_;
    std::vector<Source> sources_;
    std::vector<size_t> heap_;  // sources that are not over, as a heap
    size_t piecesAtOnce_;
    bool hasBegun_ = false;
    bool isAtEnd_ = false;
    PageId page_ = 0;
    PagePlace place_;
};

}  // namespace freshet::block
