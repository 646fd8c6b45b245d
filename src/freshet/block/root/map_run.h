// SPDX-License-Identifier: Apache-2.0
/// Runs of map entries: written and checked in parts, so that a large map is never in memory.
#pragma once

#include "freshet/base/status.h"
#include "freshet/block/block_file.h"
#include "freshet/block/root/map_format.h"
#include "freshet/block/root/run_index.h"
#include "freshet/block/root/superblock_format.h"
#include "freshet/platform/file.h"

#include <string>

namespace freshet::block {

/// Number of blocks for a run of `entries` entries.
uint64_t runBlocks(uint64_t entries);

/// Writes one run into its extent.
class RunWriter {
public:
    /// `extent` has runBlocks(header.count) blocks.
    RunWriter(platform::File* file, const Extent& extent, const RunHeader& header);
    /// In rising page id order; header.count calls.
    Status add(PageId page, const PagePlace& place);
    /// Writes the rest. Returns the index of the run.
    StatusOr<RunIndex> finish();

private:
    Status writeOut();
    /// Adds the pending entries to the checksums and the index.
    void seal();

    platform::File* const file_;
    RunIndex index_;
    uint32_t crc_ = 0;
    uint64_t offset_;
    uint64_t added_ = 0;
    std::string pending_;
};

/// What a run's header must say.
struct RunExpectation {
    RunKind kind;
    uint64_t dbUuidLow;
};

/// Reads the whole run once and checks its checksum, header, order and places. kCorruption when it
/// is not whole, kIo when it cannot be read; the text does not name the file.
StatusOr<RunIndex> loadRun(platform::File& file, const RunRef& ref, const RunExpectation& expected);

}  // namespace freshet::block
