// SPDX-License-Identifier: Apache-2.0
#include "freshet/block/root/map_walk.h"

#include <algorithm>

namespace freshet::block {
namespace {

/// Bytes read at a time, for one run and for all.
constexpr size_t kReadBytesMax = 256u << 10;
constexpr size_t kBuffersBytesMax = 2u << 20;

}  // namespace

bool MapWalk::IsLater::operator()(size_t a, size_t b) const {
    const PageId pageA = sources[a].entries.page(sources[a].at);
    const PageId pageB = sources[b].entries.page(sources[b].at);
    return pageA != pageB ? pageA > pageB : a < b;
}

MapWalk::MapWalk(platform::File& file, const std::vector<RunIndex>& runs) : file_(file) {
    const size_t each = kBuffersBytesMax / std::max<size_t>(runs.size(), 1);
    // One block less: a piece may extend into the next block.
    piecesAtOnce_ = std::max<size_t>(std::min(each, kReadBytesMax) / kBlockBytes, 2) - 1;
    sources_.reserve(runs.size());
    for (const RunIndex& run : runs) {
        sources_.push_back({&run, 0, {}, {}, 0});
    }
}

Status MapWalk::next() {
    if (!hasBegun_) {
        hasBegun_ = true;
        FRESHET_RETURN_IF_ERROR(begin());
    }
    do {
        isAtEnd_ = heap_.empty();
        if (isAtEnd_) {
            return Status::ok();
        }
        const Source& newest = sources_[heap_.front()];
        page_ = newest.entries.page(newest.at);
        FRESHET_ASSIGN_OR_RETURN(place_, newest.entries.place(newest.at));
        do {
            FRESHET_RETURN_IF_ERROR(advanceFirst());
        } while (!heap_.empty() &&
                 sources_[heap_.front()].entries.page(sources_[heap_.front()].at) == page_);
    } while (place_.extent.blocks == 0);
    return Status::ok();
}

Status MapWalk::begin() {
    for (size_t i = 0; i < sources_.size(); ++i) {
        FRESHET_RETURN_IF_ERROR(fill(&sources_[i]));
        if (!isOver(sources_[i])) {
            heap_.push_back(i);
        }
    }
    std::make_heap(heap_.begin(), heap_.end(), IsLater{sources_});
    return Status::ok();
}

Status MapWalk::advanceFirst() {
    std::pop_heap(heap_.begin(), heap_.end(), IsLater{sources_});
    Source& source = sources_[heap_.back()];
    ++source.at;
    FRESHET_RETURN_IF_ERROR(fill(&source));
    if (isOver(source)) {
        heap_.pop_back();
    } else {
        std::push_heap(heap_.begin(), heap_.end(), IsLater{sources_});
    }
    return Status::ok();
}

Status MapWalk::fill(Source* source) {
    if (!isOver(*source) || source->pieceAfter == source->run->pieces()) {
        return Status::ok();
    }
    const size_t end = std::min(source->pieceAfter + piecesAtOnce_, source->run->pieces());
    FRESHET_ASSIGN_OR_RETURN(source->entries,
                             source->run->read(file_, source->pieceAfter, end, &source->buffer));
    source->pieceAfter = end;
    source->at = 0;
    return Status::ok();
}

}  // namespace freshet::block
