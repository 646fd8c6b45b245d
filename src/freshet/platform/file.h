// SPDX-License-Identifier: Apache-2.0
/// The file seam. Journal and block file reach the disk only through here, so that a test can
/// replace it by a faulty disk. Every call may block: never make one on a reactor thread.
#pragma once

#include "freshet/base/bytes.h"
#include "freshet/base/status.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace freshet::platform {

/// The beginning of a file as memory: a store there is at once in the file, for every process, and
/// survives this one. Ends with the object; the file need not stay open.
class SharedBytes {
public:
    virtual ~SharedBytes() = default;
    virtual char* data() = 0;
};

/// One open file. Threads: pread and pwrite of disjoint ranges may run concurrently with each other
/// and with sync; nothing else may.
class File {
public:
    virtual ~File() = default;
    /// Reads exactly `bytes` bytes at `offset`, or fewer only at the end of the file. Returns the
    /// number of bytes read.
    virtual StatusOr<size_t> pread(char* out, size_t bytes, uint64_t offset) = 0;
    /// Writes all of `data`; short writes are continued internally. kNoSpace or kIo on failure.
    virtual Status pwrite(ByteView data, uint64_t offset) = 0;
    /// Writes `bytes` zeros, so that the space is allocated and written. No other call may use the
    /// file meanwhile. Offset and bytes in multiples of 4 KiB, a few MiB at most.
    virtual Status pwriteZeros(uint64_t offset, size_t bytes) {
        return pwrite(std::string(bytes, '\0'), offset);
    }
    /// Allocates space that reads as zeros, whatever it held before; later writes there do not fail
    /// for lack of space. Fast where the file system can promise that without writing, although
    /// later flushes of writes there then have more to do. Elsewhere like pwriteZeros() of the
    /// whole range. No other call may use the file meanwhile.
    virtual Status allocate(uint64_t offset, uint64_t bytes) {
        constexpr uint64_t kPieceBytes = 1u << 20;
        for (uint64_t done = 0; done < bytes; done += kPieceBytes) {
            const size_t piece = std::min(kPieceBytes, bytes - done);
            FRESHET_RETURN_IF_ERROR(pwriteZeros(offset + done, piece));
        }
        return Status::ok();
    }
    /// From now on transfers of whole 4 KiB blocks at a multiple of 4 KiB, of at least `bytesMin`
    /// bytes, bypass the operating system's cache, and cached pages of the file are dropped. Memory
    /// that begins at a multiple of 4 KiB avoids a copy. False: the file system does not support
    /// that, and nothing has changed. No other call may use the file meanwhile.
    bool bypassCache() { return bypassCacheFrom(0); }
    virtual bool bypassCacheFrom(size_t /*bytesMin*/) { return true; }
    /// The first `bytes` bytes of the file, which must have been written. Only where
    /// FileSystem::sharesIn() is true.
    virtual StatusOr<std::unique_ptr<SharedBytes>> share(size_t /*bytes*/) {
        return Status(Code::kUnsupported, "no shared memory in this file system");
    }
    /// fdatasync. A failure is final: the caller must not call again and must not go on.
    virtual Status sync() = 0;
    virtual StatusOr<uint64_t> size() = 0;
    virtual Status truncate(uint64_t bytes) = 0;
    /// Tells the kernel that the range will not be read again soon. Best effort.
    virtual void forget(uint64_t offset, uint64_t bytes) = 0;

    /// For AsyncReads: a descriptor from which the system reads whole blocks of 4 KiB at multiples
    /// of 4 KiB, as pread() does, into memory that begins at one. -1: none, as this is not a file
    /// of the operating system. It changes with bypassCache().
    virtual int blockDescriptor() const { return -1; }
    /// Whether transfers through blockDescriptor() bypass the operating system's cache.
    virtual bool bypassesCache() const { return false; }
    /// Whether AsyncReads can read it.
    bool canReadAsync() const { return blockDescriptor() >= 0; }
};

enum class OpenMode : uint8_t {
    kRead,      // must exist
    kWrite,     // must exist, read and write
    kCreate,    // created when missing, read and write
    kCreateNew  // kExists when it already exists
};

/// Holds an exclusive claim on a file until destroyed (flock).
class FileLock {
public:
    virtual ~FileLock() = default;
};

/// Of the file system that holds a directory. 0: unknown.
struct DiskSpace {
    uint64_t totalBytes = 0;
    uint64_t freeBytes = 0;  // available to this process
};

class FileSystem {
public:
    virtual ~FileSystem() = default;
    virtual StatusOr<std::unique_ptr<File>> open(const std::string& path, OpenMode mode) = 0;
    /// Names (not paths) in a directory, sorted, without `.` and `..`.
    virtual StatusOr<std::vector<std::string>> list(const std::string& directory) = 0;
    /// Creates the directory and its missing parents; ok when it already exists.
    virtual Status makeDirectory(const std::string& path) = 0;
    virtual Status rename(const std::string& from, const std::string& to) = 0;
    virtual Status remove(const std::string& path) = 0;
    /// Whether files in the directory can be shared (File::share), and a store to bytes that were
    /// written once never lacks space.
    virtual bool sharesIn(const std::string& /*directory*/) { return false; }
    virtual DiskSpace spaceOf(const std::string& /*directory*/) { return {}; }
    /// Identifies this run of the operating system: while it is the same, everything written to
    /// files is in them, flushed or not. 0: unknown.
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
