// SPDX-License-Identifier: Apache-2.0
/// Runs of records in files without a name. A run is a list of blocks; a block is read as a whole
/// and its checksum is verified. The list and the checksums are in memory, since only this process
/// reads the file. Everything here that touches the file blocks, so it must run in jobs of a
/// SpillTask.
///
/// A record: the lengths of its key and its payload (4 bytes each, native byte order), then both.
#pragma once

#include "freshet/query/spill.h"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace freshet::query {

struct SpillBlock {
    uint64_t offset = 0;
    uint64_t bytes = 0;
    uint32_t checksum = 0;
};

/// The file is created with the first block. One thread at a time.
class SpillFile {
public:
    explicit SpillFile(SpillSpace& space) : space_(space) {}
    /// kNoSpace or kIo when it cannot be written.
    StatusOr<SpillBlock> append(std::string_view bytes);
    /// kCorruption when the bytes are not those that were written.
    Status read(const SpillBlock& block, std::string* out);

private:
    SpillSpace& space_;
    std::unique_ptr<platform::File> file_;
    uint64_t end_ = 0;
};

struct SpillRun {
    std::shared_ptr<SpillFile> file;
    std::vector<SpillBlock> blocks;
    uint64_t bytes = 0;
    uint64_t largestBlock = 0;

    Status append(std::string_view block);
};

struct SpillRecord {
    std::string_view key;
    std::string_view payload;
};
void appendRecord(const SpillRecord& record, std::string* block);
/// The block size for an operation that may hold `bytesMax`.
size_t blockBytesFor(size_t bytesMax);

/// Fills the blocks of a run.
class RunWriter {
public:
    RunWriter(std::shared_ptr<SpillFile> file, size_t blockBytes) : blockBytes_(blockBytes) {
        run_.file = std::move(file);
    }
    Status add(const SpillRecord& record);
    Status finish();
    SpillRun take() { return std::move(run_); }
    uint64_t bytes() const { return run_.bytes + block_.size(); }

private:
    SpillRun run_;
    size_t blockBytes_;
    std::string block_;
};

/// Reads a run, block by block.
class RunReader {
public:
    explicit RunReader(SpillRun run) : run_(std::move(run)) {}
    /// A record is in memory.
    bool hasRecord() const { return at_ < block_.size(); }
    /// The block in memory is used up, and there is another block.
    bool mustFetch() const { return !hasRecord() && nextBlock_ < run_.blocks.size(); }
    Status fetch();
    /// REQUIRES: hasRecord(). Valid until fetch().
    SpillRecord record() const;
    void advance();

private:
    SpillRun run_;
    size_t nextBlock_ = 0;
    std::string block_;
    size_t at_ = 0;
};

/// The records of several runs, by key; of equal keys, those of earlier runs come first.
class RunMerge {
public:
    explicit RunMerge(std::vector<SpillRun> runs);
    enum class Step : uint8_t { kRecord, kMustFetch, kEnd };
    /// kRecord: valid until the next call. kMustFetch: call fetch(), then next() again.
    Step next(SpillRecord* record);
    Status fetch();

private:
    void offer(size_t reader);
    bool isAfter(size_t a, size_t b) const;

    std::vector<RunReader> readers_;
    std::vector<size_t> waiting_;  // readers that need a fetch()
    std::vector<size_t> heap_;     // readers with a record; the one with the first key on top
    static constexpr size_t kNone = SIZE_MAX;
    size_t given_ = kNone;  // the reader whose record the caller has
};

}  // namespace freshet::query
