// SPDX-License-Identifier: Apache-2.0
/// The block file: pages on disk, each under a page id, replaced only by copies elsewhere, and
/// checkpoints that say which copies count (DESIGN 7.1 to 7.3). A checkpoint is one map run and one
/// superblock, made durable by one flush; until then the one before stays whole. Block knows pages
/// and their checksums, not what is in them, and takes log positions as opaque numbers.
///
/// Threads: stats() and readPage() from any, at any time; of the others one at a time. Every call
/// but stats() may block on the disk.
#pragma once

#include "freshet/base/bytes.h"
#include "freshet/base/status.h"
#include "freshet/block/page_buffer.h"
#include "freshet/block/page_format.h"
#include "freshet/platform/async_reads.h"
#include "freshet/platform/file.h"

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace freshet::block {

/// Names a page for ever. 0 is no page.
using PageId = uint64_t;

/// A stretch of blocks of kBlockBytes. blocks == 0: nowhere.
struct Extent {
    uint64_t firstBlock = 0;
    uint32_t blocks = 0;
};

/// Where a page's image lies, and what it must look like. The checksum is kept here, outside the
/// page, because a lost or misdirected write leaves a page that agrees with itself.
struct PagePlace {
    Extent extent;
    uint32_t crc = 0;
    uint32_t seqLow = 0;  // low half of the image's sequence number
    /// What the owner wants to know of the image without reading it; 0: nothing. Kept with the
    /// place, and as old as the image; block does not look at it.
    uint64_t note = 0;
};

/// What a checkpoint fixes beside the map. Block stores it and gives it back.
struct Root {
    uint64_t checkpointNo = 0;  // 0: there has been none. Set by commit().
    uint64_t redoLsn = 0;       // replay begins here
    uint64_t clockTs = 0;
    uint64_t timeBase = 0;
    uint64_t nextPageId = 0;
    uint32_t nextTreeId = 0;
};

struct Options {
    platform::FileSystem* files = nullptr;
    std::string path;  // dbpath/data.freshet
    std::array<char, 16> dbUuid{};
    /// The file grows by an eighth of its size within these, zero-filled ahead of use.
    uint64_t growBytesMin = 4u << 20;
    uint64_t growBytesMax = 64u << 20;
    /// A file that was cut is filled up with zeros: pages that lay there are damaged, the others
    /// can be read.
    bool repair = false;
};

struct Stats {
    uint64_t fileBytes = 0;
    uint64_t freeBytes = 0;       // usable now
    uint64_t pendingBytes = 0;    // usable when a checkpoint in the making is out of doubt
    uint64_t mappedPages = 0;     // in the newest checkpoint
    uint64_t memoryBytes = 0;     // of what is kept of the map, and of all lists of places
    uint64_t bytesGivenBack = 0;  // to the file system
    uint64_t pagesWritten = 0;
    uint64_t bytesWritten = 0;
    uint64_t pagesCompressed = 0;  // of those written
    uint64_t bytesSaved = 0;       // by that
    uint64_t checkpoints = 0;
    uint64_t flushes = 0;
    /// The disk refused the last growth and less than one step is free: what is left is for the
    /// checkpoint that makes room. Until it clears, refuse whatever makes pages grow. It clears
    /// when a step is free again: by makeRoom(), or by what settle() frees.
    bool spaceShort = false;
};

inline constexpr size_t kVerifyErrorsMax = 1000;

/// What verify() found; each text names a page or an extent.
struct VerifyReport {
    uint64_t pages = 0;
    uint64_t bytes = 0;
    std::vector<std::string> errors;
};

class BlockFile {
public:
    /// Opens the file, or makes it, and checks the newest whole checkpoint's map. Overwrites
    /// nothing. kUnsupported: a newer format. kCorruption: no whole checkpoint, or another
    /// directory's file; the text names the place. A superblock whose run or whose late images are
    /// not whole, when read twice, is passed over for the one before it (it was never durable, or
    /// the log knows better: root()).
    static StatusOr<std::unique_ptr<BlockFile>> open(const Options& options);
    ~BlockFile();
    /// The data directory's name as a superblock has it, for repair when nobody else knows it any
    /// more. kCorruption: no superblock is whole; kNotFound: there is no file.
    static StatusOr<std::array<char, 16>> readUuid(platform::FileSystem& files,
                                                   const std::string& path);

    /// Of the newest durable checkpoint. A caller that finds in its log that a checkpoint beyond
    /// this one had become durable must not go on to start(): that one was damaged later or read
    /// wrong, and what this one names may have been overwritten.
    const Root& root() const;
    /// Makes the checkpoint that was chosen the only one, durably, and raises startNo. Once.
    /// REQUIRES: the log agrees that this is the newest one. Only reading is allowed before:
    /// forEachPage, readPage, verify, stats. A failure is final; kLimit: it was opened too often.
    Status start();
    /// How often this file was started; part of every image's sequence number, so that a crash
    /// cannot repeat one.
    uint32_t startNo() const;
    /// Every page of the newest durable checkpoint, in page id order, as the map on the disk says.
    /// kCorruption names a part of it that is not what it was; `sink` has had what comes before.
    Status forEachPage(const std::function<Status(PageId, const PagePlace&)>& sink) const;

    /// `image`: a PageHeader, of which the caller fills the fields that are its own, and the body.
    /// Picks an extent that no durable checkpoint names, and writes it there with a complete header
    /// (sequence number, lengths, checksum). With a codec the body is stored compressed if that
    /// saves a block. The place, with the note, counts from the next commit() that names it.
    /// kNoSpace: the file cannot grow, and what is left is kept for commit(); nothing was written.
    /// kLimit: an image of more than 65,535 blocks.
    StatusOr<PagePlace> writePage(ByteView image, Codec codec = Codec::kNone, uint64_t note = 0);
    /// writePage() of each, all at once (decision 0033); places in the order of the images.
    /// After a failure none of them has a place, also if others were written before it.
    struct NewImage {
        ByteView image;
        Codec codec = Codec::kNone;
        uint64_t note = 0;
    };
    StatusOr<std::vector<PagePlace>> writePages(std::span<const NewImage> images);
    /// Reads and checks an image: both checksums, page id, length, sequence number, and hands it
    /// out as it was given to writePage(), uncompressed, with a complete header; good until
    /// `buffer` is used again. kCorruption names the page, the file and the offset. Any thread.
    StatusOr<ByteView> readPage(PageId page, const PagePlace& place, PageBuffer* buffer) const;
    /// readPage() in two halves, for who has many under way at once: startRead() begins reading
    /// into `buffer`, openRead() does the rest when `read` is over. REQUIRES: canReadAsync().
    bool canReadAsync() const;
    Status startRead(PageId page,
                     const PagePlace& place,
                     PageBuffer* buffer,
                     platform::AsyncReads* reads,
                     platform::AsyncReads::Read* read) const;
    StatusOr<ByteView> openRead(PageId page,
                                const PagePlace& place,
                                const platform::AsyncReads::Read& read,
                                PageBuffer* buffer) const;
    /// As readPage(), into a string.
    Status readPage(PageId page, const PagePlace& place, std::string* image) const;
    /// Gives back the extent of an image that no commit() has named.
    void discard(const PagePlace& place);
    /// While stats().spaceShort: tries again to grow the file. After a superblock was refused:
    /// makes free what it held back. kNoSpace: there is still no room for that.
    Status makeRoom();
    /// From now on pages come and go past the operating system's cache, if the file system can do
    /// that. Opening reads all of them, one behind the other: that is what the cache is good at.
    /// Nothing else may use the file meanwhile.
    bool bypassCache();

    /// Makes all images written so far durable. To be called before commit(), so that commit()'s
    /// own flush is short; images written after it are listed in the checkpoint and checked at the
    /// next open().
    Status flush();
    /// What changed since the last commit(): a page's new place, its old one with another note, or
    /// extent.blocks == 0 for a page that is gone.
    struct Change {
        PageId page = 0;
        PagePlace place;
    };
    /// Writes the changes and the superblock, then one flush. Afterwards the new checkpoint is the
    /// durable one. The places that it replaces stay untouched until settle(). Any failure but
    /// kNoSpace is final: the caller must not go on. kNoSpace: the one before is the durable one
    /// still, and all can be said again; if even the superblock was refused, the next open() may
    /// find either, so what the log needs for both must stay there. When all went well `onReplaced`
    /// hears of each page whose image the one before had elsewhere, or whose page is gone, where
    /// that lies.
    Status commit(const Root& root,
                  const std::vector<Change>& changes,
                  const std::function<void(PageId, const Extent&)>& onReplaced = {});
    /// The last commit() is known to be durable for good (its log record is): frees what it
    /// replaced, and gives free room at the file's end back to the file system.
    void settle();
    /// Some images keep the file longer than it need be: when they are written anew, settle() can
    /// cut it.
    bool wantsMoves() const;
    /// The one there does, and would find a place further to the front.
    bool wantsMoved(const Extent& extent) const;
    /// So many blocks are going to be written for that reason alone: checkpoints do not take them
    /// from one to the next.
    void noteMove(uint64_t blocks);
    /// One more commit(), if only of what there is, and settle() can cut the file.
    bool wantsCommit() const;

    /// Reads every page of the newest checkpoint and checks that no two extents overlap. The report
    /// lists at most kVerifyErrorsMax errors.
    StatusOr<VerifyReport> verify() const;
    /// Any thread.
    Stats stats() const;

private:
    struct Impl;
    explicit BlockFile(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

}  // namespace freshet::block
