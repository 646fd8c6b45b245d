// SPDX-License-Identifier: Apache-2.0
/// Segment files: their names, and making new ones ahead of need.
#pragma once

#include "freshet/base/status.h"
#include "freshet/journal/file/recycling.h"
#include "freshet/platform/file.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace freshet::journal {

/// An open segment. Blocks are packed from offset 0.
struct Segment {
    std::unique_ptr<platform::File> file;
    std::string path;
    uint32_t index = 0;
    uint64_t bytes = 0;  // usable, a multiple of kBlockAlign
};

/// Blocks of at least this many bytes bypass the system's cache: under load slots are written full,
/// and copying them into pages that are never read cost more than the rest of the write. Smaller
/// blocks leave room in their last page for the next one, and use the cache.
inline constexpr uint32_t kDirectBlockBytesMin = 128 * 1024;
/// For a file that blocks will be written to, before it is used.
inline void takeDirectBlocks(platform::File& file) {
    // Where the file system does not support that, all blocks use the cache.
    static_cast<void>(file.bypassCacheFrom(kDirectBlockBytesMin));
}

inline constexpr size_t kSegmentDigits = 8;

/// "j." and eight hexadecimal digits.
std::string segmentName(uint32_t index);
/// Empty when `name` is not a segment's.
std::optional<uint32_t> segmentIndex(const std::string& name);
/// Name of an unfinished segment.
inline constexpr const char* kUnfinishedName = "next.tmp";

/// How a segment is made.
enum class Pace {
    kInSteps,  // zeros, a part of them in each step
    kAtOnce,   // zeros, all in one step: no other thread uses the disk
    kMissed,   // the log waits for it: zeros that the file system promises
};

/// Makes segments one at a time, in small steps, so that a flush never waits long for it. A segment
/// appears under its name only when all its zeros are durable, so no size on disk is ever partial
/// and no later flush has to convert unwritten extents; one made from a spare, when its first block
/// is durably blank (INV-journal-8). Where the log grows faster than zeros should be written beside
/// it, the file system promises the zeros instead (decision 0043). Threads: one.
class SegmentMaker {
public:
    /// `spares` must outlive this. `zeroedPerSecondMax`: see journal::Options.
    SegmentMaker(platform::FileSystem* files,
                 std::string directory,
                 uint32_t nextIndex,
                 uint64_t nextBytes,
                 uint64_t bytesMax,
                 uint64_t zeroedPerSecondMax,
                 SparePool& spares)
        : files_(files),
          directory_(std::move(directory)),
          nextIndex_(nextIndex),
          nextBytes_(nextBytes),
          bytesMax_(bytesMax),
          zeroedPerSecondMax_(static_cast<double>(zeroedPerSecondMax)),
          spares_(spares) {}

    /// Null: not finished yet (kInSteps only). A new segment is begun only if `keepFreeBytes` of
    /// the disk stay free; else kNoSpace. After a failure the next call begins the same segment
    /// again; kNoSpace may pass, the caller decides about others.
    StatusOr<std::unique_ptr<Segment>> step(Pace pace, uint64_t keepFreeBytes = 0);

private:
    StatusOr<std::unique_ptr<Segment>> zeroStep(Pace pace, uint64_t keepFreeBytes);
    Status zeroSome(Pace pace);
    Status beginUnfinished(const std::string& path, uint64_t keepFreeBytes);
    StatusOr<std::unique_ptr<Segment>> reuse(const Spare& spare);
    StatusOr<std::unique_ptr<Segment>> publish(const std::string& from,
                                               std::unique_ptr<platform::File> file,
                                               uint64_t bytes);

    platform::FileSystem* const files_;
    const std::string directory_;
    uint32_t nextIndex_;
    uint64_t nextBytes_;
    const uint64_t bytesMax_;
    const double zeroedPerSecondMax_;
    SparePool& spares_;
    std::unique_ptr<platform::File> unfinished_;
    uint64_t zeroed_ = 0;
    uint64_t begunNanos_ = 0;  // when the current one was begun, or the last one
    bool growsFast_ = false;   // the previous segment filled faster than this one would be zeroed
};

}  // namespace freshet::journal
