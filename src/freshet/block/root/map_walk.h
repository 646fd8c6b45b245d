// SPDX-License-Identifier: Apache-2.0
/// Goes over several runs at once, which together are a page map, in page id order: the newest
/// entry of each page, and no page whose newest entry says that it is gone. One thread.
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
    /// `runs`: oldest first; they and the file must outlive this and stay as they are.
    MapWalk(platform::File& file, const std::vector<RunIndex>& runs);
    /// To the next page; the first call to the first. After a failure it is over.
    Status next();
    bool isAtEnd() const { return isAtEnd_; }
    PageId page() const { return page_; }
    const PagePlace& place() const { return place_; }

private:
    /// One of the runs, and where in it we are.
    struct Source {
        const RunIndex* run;
        size_t pieceAfter = 0;  // the first that has not been read
        PageBuffer buffer;
        EntryList entries;  // in it
        size_t at = 0;      // in them
    };
    /// Whether one comes after another: of the entries of a page the newest is first.
    struct IsLater {
        const std::vector<Source>& sources;
        bool operator()(size_t a, size_t b) const;
    };

    Status begin();
    /// Goes on in the source that is first.
    Status advanceFirst();
    /// Reads on if nothing is left of what was read.
    Status fill(Source* source);
    static bool isOver(const Source& source) { return source.at == source.entries.size(); }

    platform::File& file_;
    std::vector<Source> sources_;
    std::vector<size_t> heap_;  // those that are not over, the one that is first in front
    size_t piecesAtOnce_;
    bool hasBegun_ = false;
    bool isAtEnd_ = false;
    PageId page_ = 0;
    PagePlace place_;
};

}  // namespace freshet::block
