// SPDX-License-Identifier: Apache-2.0
#include "freshet/block/root/page_map.h"

#include "freshet/block/root/map_run.h"
#include "freshet/block/root/map_walk.h"

#include <algorithm>
#include <utility>

namespace freshet::block {
namespace {

/// Number of consecutive pieces read at a time.
constexpr size_t kPiecesAtOnce = 64;

/// Looks for pages in one run.
class RunLookup {
public:
    RunLookup(platform::File& file, const RunIndex& run) : file_(file), run_(run) {}

    Status find(std::vector<PageMap::Wanted>* wanted) {
        for (size_t i = 0; i < wanted->size();) {
            const std::optional<size_t> piece = pieceFor((*wanted)[i]);
            if (!piece) {
                ++i;
                continue;
            }
            const Stretch stretch = stretchFrom(*wanted, i, *piece);
            FRESHET_ASSIGN_OR_RETURN(const EntryList entries,
                                     run_.read(file_, *piece, stretch.pieceEnd, &buffer_));
            for (; i < stretch.wantedEnd; ++i) {
                FRESHET_RETURN_IF_ERROR(take(entries, &(*wanted)[i]));
            }
        }
        return Status::ok();
    }

private:
    struct Stretch {
        size_t pieceEnd;
        size_t wantedEnd;
    };

    std::optional<size_t> pieceFor(const PageMap::Wanted& wanted) const {
        return wanted.isFound ? std::nullopt : run_.pieceOf(wanted.page);
    }

    /// The requests that can be answered by reading on from `piece`, without reading pieces that
    /// none needs.
    Stretch stretchFrom(const std::vector<PageMap::Wanted>& wanted, size_t i, size_t piece) const {
        Stretch stretch{piece + 1, i + 1};
        for (; stretch.wantedEnd < wanted.size(); ++stretch.wantedEnd) {
            const std::optional<size_t> next = pieceFor(wanted[stretch.wantedEnd]);
            if (!next || *next < stretch.pieceEnd) {
                continue;
            }
            if (*next > stretch.pieceEnd || *next - piece >= kPiecesAtOnce) {
                break;
            }
            stretch.pieceEnd = *next + 1;
        }
        return stretch;
    }

    static Status take(const EntryList& entries, PageMap::Wanted* wanted) {
        if (wanted->isFound) {
            return Status::ok();
        }
        const size_t at = entries.lowerBound(wanted->page);
        if (at < entries.size() && entries.page(at) == wanted->page) {
            FRESHET_ASSIGN_OR_RETURN(wanted->place, entries.place(at));
            wanted->isFound = true;
        }
        return Status::ok();
    }

    platform::File& file_;
    const RunIndex& run_;
    PageBuffer buffer_;
};

}  // namespace

StatusOr<PageMap> PageMap::load(platform::File& file,
                                const std::string& path,
                                const Superblock& superblock) {
    const auto uuidLow = loadLe<uint64_t>(superblock.dbUuid.data());
    PageMap map;
    map.path_ = path;
    if (superblock.mapBase.blocks != 0) {
        FRESHET_ASSIGN_OR_RETURN(RunIndex base,
                                 loadRun(file, superblock.mapBase, {RunKind::kMapBase, uuidLow}));
        map.setBase(std::move(base));
    }
    for (uint32_t i = 0; i < superblock.deltaCount; ++i) {
        FRESHET_ASSIGN_OR_RETURN(
            RunIndex delta, loadRun(file, superblock.mapDelta[i], {RunKind::kMapDelta, uuidLow}));
        map.addDelta(std::move(delta));
    }
    return map;
}

Status PageMap::find(platform::File& file, std::vector<Wanted>* wanted) const {
    for (auto run = runs_.rbegin(); run != runs_.rend(); ++run) {
        FRESHET_RETURN_IF_ERROR(RunLookup(file, *run).find(wanted).withContext(path_));
    }
    return Status::ok();
}

Status PageMap::forEach(platform::File& file,
                        const std::function<Status(PageId, const PagePlace&)>& sink) const {
    MapWalk walk(file, runs_);
    for (;;) {
        FRESHET_RETURN_IF_ERROR(walk.next().withContext(path_));
        if (walk.isAtEnd()) {
            return Status::ok();
        }
        FRESHET_RETURN_IF_ERROR(sink(walk.page(), walk.place()));
    }
}

void PageMap::setBase(RunIndex base) {
    runs_.clear();
    runs_.push_back(std::move(base));
}

uint64_t PageMap::memoryBytes() const {
    uint64_t bytes = runs_.capacity() * sizeof(RunIndex);
    for (const RunIndex& run : runs_) {
        bytes += run.memoryBytes();
    }
    return bytes;
}

}  // namespace freshet::block
