// SPDX-License-Identifier: Apache-2.0
/// The block file: pages on disk, each under a page id, replaced only by copies elsewhere, and
/// checkpoints that say which copies count (docs/design/block.md). A checkpoint is one map run and
/// one superblock, made durable by one flush; until then the previous one stays whole. Block knows
/// pages and their checksums, not their content, and takes log positions as opaque numbers.
///
/// Threads: stats() and readPage() from any, at any time; the other calls one at a time. Every call
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

/// Names a page for ever. 0: no page.
using PageId = uint64_t;

/// A stretch of blocks of kBlockBytes. blocks == 0: none.
struct Extent {
    uint64_t firstBlock = 0;
    uint32_t blocks = 0;
};

/// Where a page's image is stored, and how to check it. The checksum is kept here, outside the
/// page, because a lost or misdirected write leaves a page whose own checksum is right.
struct PagePlace {
    Extent extent;
    uint32_t crc = 0;
    uint32_t seqLow = 0;  // low half of the image's sequence number
    /// What the owner wants to know about the image without reading it; 0: nothing. Kept with the
    /// place and as old as the image; block does not interpret it.
    uint64_t note = 0;
};

/// What a checkpoint fixes besides the map. Block stores it and returns it.
struct Root {
    uint64_t checkpointNo = 0;  // 0: no checkpoint yet. Set by commit()
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
    /// The file grows by an eighth of its size within these limits, zero-filled ahead of use.
    uint64_t growBytesMin = 4u << 20;
    uint64_t growBytesMax = 64u << 20;
    /// A file that was cut is filled up with zeros: pages in the missing part are damaged, the
    /// others can be read.
    bool repair = false;
};

struct Stats {
    uint64_t fileBytes = 0;
    uint64_t freeBytes = 0;       // usable now
    uint64_t pendingBytes = 0;    // usable once an unfinished checkpoint is no longer in doubt
    uint64_t mappedPages = 0;     // in the newest checkpoint
    uint64_t memoryBytes = 0;     // of the map's index, and of all lists of places
    uint64_t bytesGivenBack = 0;  // to the file system
    uint64_t pagesWritten = 0;
    uint64_t bytesWritten = 0;
    uint64_t pagesCompressed = 0;  // of those written
    uint64_t bytesSaved = 0;       // by compression
    uint64_t checkpoints = 0;
    uint64_t flushes = 0;
    /// The disk refused the last growth and less than one step is free: the rest is for the
    /// checkpoint that frees space. While it is set, refuse operations that make pages grow. It
    /// clears when a step is free again: by makeRoom(), or by what settle() frees.
    bool spaceShort = false;
};

inline constexpr size_t kVerifyErrorsMax = 1000;

/// The findings of verify(); each text names a page or an extent.
struct VerifyReport {
    uint64_t pages = 0;
    uint64_t bytes = 0;
    std::vector<std::string> errors;
};

class BlockFile {
public:
    /// Opens the file, or makes it, and checks the newest whole checkpoint's map. Overwrites
    /// nothing. kUnsupported: a newer format. kCorruption: no whole checkpoint, or another
    /// directory's file; the text names the place. If a superblock's run or late images are not
    /// whole even when read twice, the previous superblock is used: the newer one was never
    /// durable, or the log reveals that it was (see root()).
    static StatusOr<std::unique_ptr<BlockFile>> open(const Options& options);
    ~BlockFile();
    /// The data directory's id from a superblock, for repair when it is known from nowhere else.
    /// kCorruption: no superblock is whole; kNotFound: there is no file.
    static StatusOr<std::array<char, 16>> readUuid(platform::FileSystem& files,
                                                   const std::string& path);

    /// The root of the newest durable checkpoint. If the caller's log shows that a later checkpoint
    /// had become durable, the caller must not call start(): that checkpoint was damaged later or
    /// misread, and what this one names may have been overwritten.
    const Root& root() const;
    /// Makes the chosen checkpoint the only one, durably, and raises startNo. Once. REQUIRES: the
    /// log agrees that this is the newest one. Before it only reading is allowed: forEachPage,
    /// readPage, verify, stats. A failure is final; kLimit: the file was opened too often.
    Status start();
    /// How often this file was started; part of every image's sequence number, so that a crash
    /// cannot repeat one.
    uint32_t startNo() const;
    /// Calls `sink` for every page of the newest durable checkpoint, in page id order, reading the
    /// map from disk. kCorruption names a part of the map that has changed; `sink` was called for
    /// the pages before it.
    Status forEachPage(const std::function<Status(PageId, const PagePlace&)>& sink) const;

    /// `image`: a PageHeader, in which the caller fills its own fields, and the body. Picks an
    /// extent that no durable checkpoint names, and writes the image there with a complete header
    /// (sequence number, lengths, checksum). With a codec the body is stored compressed if that
    /// saves a block. The place, with the note, is valid from the next commit() that names it.
    /// kNoSpace: the file cannot grow, and the rest is kept for commit(); nothing was written.
    /// kLimit: an image of more than 65,535 blocks.
    StatusOr<PagePlace> writePage(ByteView image, Codec codec = Codec::kNone, uint64_t note = 0);
    /// writePage() of each, all at once (decision 0033); places in the order of the images. After a
    /// failure none of them has a place, even if some were written before it.
    struct NewImage {
        ByteView image;
        Codec codec = Codec::kNone;
        uint64_t note = 0;
    };
    StatusOr<std::vector<PagePlace>> writePages(std::span<const NewImage> images);
    /// Reads and checks an image: both checksums, page id, length, sequence number. Returns it as
    /// it was given to writePage(), uncompressed, with a complete header; valid until `buffer` is
    /// used again. kCorruption names the page, the file and the offset. Any thread.
    StatusOr<ByteView> readPage(PageId page, const PagePlace& place, PageBuffer* buffer) const;
    /// readPage() in two halves, for a caller with many reads under way: startRead() begins reading
    /// into `buffer`, openRead() does the rest when `read` has finished. REQUIRES: canReadAsync().
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
    /// Frees the extent of an image that no commit() has named.
    void discard(const PagePlace& place);
    /// While stats().spaceShort: tries again to grow the file. After a refused superblock: frees
    /// what it held back. kNoSpace: there is still no space for that.
    Status makeRoom();
    /// From now on pages are read and written past the operating system's cache, if the file system
    /// can do that. Opening benefits from the cache: it reads all pages in sequence. No other call
    /// may use the file meanwhile.
    bool bypassCache();

    /// Makes all images written so far durable. Call it before commit(), so that commit()'s own
    /// flush is short; images written after it are listed in the checkpoint and checked at the next
    /// open().
    Status flush();
    /// A change since the last commit(): a page's new place, its old place with another note, or
    /// extent.blocks == 0 for a removed page.
    struct Change {
        PageId page = 0;
        PagePlace place;
    };
    /// Writes the changes and the superblock, then flushes once. Afterwards the new checkpoint is
    /// the durable one. The places that it replaces stay untouched until settle(). Any failure but
    /// kNoSpace is final: the caller must not go on. kNoSpace: the previous checkpoint is still the
    /// durable one, and the call can be repeated; if even the superblock was refused, the next
    /// open() may find either, so the log must keep what both need. On success `onReplaced` is
    /// called for each page that the previous checkpoint had at another place or that is removed,
    /// with its old place.
    Status commit(const Root& root,
                  const std::vector<Change>& changes,
                  const std::function<void(PageId, const Extent&)>& onReplaced = {});
    /// The last commit() is known to be durable for good (its log record is): frees what it
    /// replaced, and returns free space at the file's end to the file system.
    void settle();
    /// Some images keep the file longer than it need be: once the owner has rewritten them,
    /// settle() can cut it.
    bool wantsMoves() const;
    /// True for such an image if a place further to the front is free.
    bool wantsMoved(const Extent& extent) const;
    /// This many blocks are going to be written only in order to move images, so they do not count
    /// as what checkpoints usually take.
    void noteMove(uint64_t blocks);
    /// True when one more commit(), even without changes, would let settle() cut the file.
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
