// SPDX-License-Identifier: Apache-2.0
/// Runs of map entries: written and read in pieces, so that a large map needs no second copy.
#pragma once

#include "freshet/base/status.h"
#include "freshet/block/block_file.h"
#include "freshet/block/root/map_format.h"
#include "freshet/block/root/superblock_format.h"
#include "freshet/platform/file.h"

#include <functional>
#include <string>

namespace freshet::block {

/// Blocks that a run of so many entries fills.
uint64_t runBlocks(uint64_t entries);

/// Writes one run into its extent.
class RunWriter {
public:
    /// `extent` has runBlocks(header.count) blocks.
    RunWriter(platform::File* file, const Extent& extent, const RunHeader& header);
    /// In rising page id order; header.count of them.
    Status add(PageId page, const PagePlace& place);
    StatusOr<RunRef> finish();

private:
    Status writeOut();

    platform::File* const file_;
    RunRef ref_;
    uint64_t offset_;
    uint64_t added_ = 0;
    std::string pending_;
};

/// What a run must say of itself.
struct RunExpectation {
    RunKind kind;
    uint64_t dbUuidLow;
};

/// Hands the run's entries over in order; what came is void unless the call returns ok, because the
/// checksum is known last. kCorruption when the run is not whole, kIo when it cannot be read; the
/// text does not name the file.
Status readRun(platform::File& file,
               const RunRef& ref,
               const RunExpectation& expected,
               const std::function<Status(PageId, const PagePlace&)>& sink);

}  // namespace freshet::block
