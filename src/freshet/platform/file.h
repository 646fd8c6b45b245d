// SPDX-License-Identifier: Apache-2.0
/// The file seam. Journal and block file reach the disk only through here, so that a test can put a
/// faulty disk in its place. Every call may block: never make one on a reactor thread.
#pragma once

#include "freshet/base/bytes.h"
#include "freshet/base/status.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace freshet::platform {

/// The beginning of a file as memory: what is stored there is the file's content at once, for every
/// process, and outlives this one. Ends with the object; the file need not stay open.
class SharedBytes {
public:
    virtual ~SharedBytes() = default;
    virtual char* data() = 0;
};

/// One open file. Threads: pread and pwrite of disjoint ranges may run side by side with each other
/// and with sync; nothing else may.
class File {
public:
    virtual ~File() = default;
    /// Reads exactly `bytes` bytes at `offset`, or fewer only at the end of the file: returns how
    /// many.
    virtual StatusOr<size_t> pread(char* out, size_t bytes, uint64_t offset) = 0;
    /// Writes all of `data`; short writes are continued inside. kNoSpace or kIo on failure.
    virtual Status pwrite(ByteView data, uint64_t offset) = 0;
    /// Writes `bytes` zeros, to make room that is allocated and written. Nothing else may use the
    /// file meanwhile. Offset and bytes in multiples of 4 KiB, a few MiB at most.
    virtual Status pwriteZeros(uint64_t offset, size_t bytes) {
        return pwrite(std::string(bytes, '\0'), offset);
    }
    /// Makes room that reads as zeros, whatever was there; writing there later does not fail for
    /// want of it. Takes no time where the file system can promise that without writing; then a
    /// flush of what is written there has more to do. Otherwise as pwriteZeros() of all of it.
    /// Nothing else may use the file meanwhile.
    virtual Status allocate(uint64_t offset, uint64_t bytes) {
        constexpr uint64_t kPieceBytes = 1u << 20;
        for (uint64_t done = 0; done < bytes; done += kPieceBytes) {
            const size_t piece = std::min(kPieceBytes, bytes - done);
            FRESHET_RETURN_IF_ERROR(pwriteZeros(offset + done, piece));
        }
        return Status::ok();
    }
    /// From now on transfers of whole 4 KiB blocks at a multiple of 4 KiB, if they have `bytesMin`
    /// bytes or more, go past the operating system's cache, and what that has of the file is
    /// dropped. Memory that begins at a multiple of 4 KiB saves them a copy. False: the file system
    /// does not do that, and nothing has changed. Nothing else may use the file meanwhile.
    bool bypassCache() { return bypassCacheFrom(0); }
    virtual bool bypassCacheFrom(size_t /*bytesMin*/) { return true; }
    /// Its first `bytes` bytes, which must have been written. Where FileSystem::sharesIn() says so.
    virtual StatusOr<std::unique_ptr<SharedBytes>> share(size_t /*bytes*/) {
        return Status(Code::kUnsupported, "no shared memory in this file system");
    }
    /// fdatasync. A failure is final: the caller must not call again and must not go on.
    virtual Status sync() = 0;
    virtual StatusOr<uint64_t> size() = 0;
    virtual Status truncate(uint64_t bytes) = 0;
    /// Tells the kernel that the range will not be read again soon. Best effort.
    virtual void forget(uint64_t offset, uint64_t bytes) = 0;

    /// For AsyncReads: where the system reads whole blocks of 4 KiB at multiples of 4 KiB, as
    /// pread() does, into memory that begins at one. -1: nowhere, as this is no file of the
    /// system's. It changes with bypassCache().
    virtual int blockDescriptor() const { return -1; }
    /// Whether what goes there goes past the operating system's cache.
    virtual bool bypassesCache() const { return false; }
    /// Whether AsyncReads can read it.
    bool canReadAsync() const { return blockDescriptor() >= 0; }
};

enum class OpenMode : uint8_t {
    kRead,      // must exist
    kWrite,     // must exist, read and write
    kCreate,    // created when missing, read and write
    kCreateNew  // kExists when it is there already
};

/// Holds an exclusive claim on a file until destroyed (flock).
class FileLock {
public:
    virtual ~FileLock() = default;
};

/// Of the file system that a directory lies in. 0: unknown.
struct DiskSpace {
    uint64_t totalBytes = 0;
    uint64_t freeBytes = 0;  // for us
};

class FileSystem {
public:
    virtual ~FileSystem() = default;
    virtual StatusOr<std::unique_ptr<File>> open(const std::string& path, OpenMode mode) = 0;
    /// Names (not paths) in a directory, sorted, without `.` and `..`.
    virtual StatusOr<std::vector<std::string>> list(const std::string& directory) = 0;
    /// Creates the directory and its missing parents; ok when it is there already.
    virtual Status makeDirectory(const std::string& path) = 0;
    virtual Status rename(const std::string& from, const std::string& to) = 0;
    virtual Status remove(const std::string& path) = 0;
    /// Whether files there can be shared (File::share), and whoever stores to what was written once
    /// is never without room.
    virtual bool sharesIn(const std::string& /*directory*/) { return false; }
    virtual DiskSpace spaceOf(const std::string& /*directory*/) { return {}; }
    /// Of this run of the operating system: as long as it is the same, what was written to files is
    /// in them, flushed or not. 0: unknown.
    virtual uint64_t bootNumber() { return 0; }
    /// Makes creations, renames and removals in the directory durable.
    virtual Status syncDirectory(const std::string& path) = 0;
    /// Locks `path`, creating it, and writes our process id into it. kUnavailable, with the
    /// holder's id in the text, when another process or another FileLock of ours holds it.
    virtual StatusOr<std::unique_ptr<FileLock>> lock(const std::string& path) = 0;

    /// The operating system's own files. Lives as long as the process.
    static FileSystem& posix();
};

}  // namespace freshet::platform
