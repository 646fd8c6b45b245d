// SPDX-License-Identifier: Apache-2.0
/// FileSystem on POSIX calls. EINTR is retried and a short transfer continued; every other failure
/// is reported with the path and the system's error text.
#include "freshet/base/checksum.h"
#include "freshet/platform/file.h"
#include "freshet/platform/transfer_memory.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

namespace freshet::platform {
namespace {

Status failure(const char* what, const std::string& path, int error) {
    Code code = error == ENOSPC || error == EDQUOT ? Code::kNoSpace
                : error == ENOENT                  ? Code::kNotFound
                : error == EEXIST                  ? Code::kExists
                                                   : Code::kIo;
    return Status(code, std::string(what) + " " + path + ": " + std::strerror(error));
}

constexpr size_t kDirectBytes = 4096;

/// Memory for direct transfers, which must be aligned: a buffer of the thread's for unaligned
/// memory, or one contiguous piece for memory that would be many pieces to the device. A copy of a
/// few pages costs less than the copy through the cache, and less than the pieces.
class DirectBuffer {
public:
    /// For a transfer from or to `memory`.
    DirectBuffer(const char* memory, size_t bytes)
        : piece_(TransferPiece::isOnePiece(memory, bytes) && isAligned(memory)
                     ? TransferPiece()
                     : TransferPiece(std::min(bytes, kTransferBytesMax))),
          data_(piece_.data()),
          bytes_(kTransferBytesMax) {
        if (data_ == nullptr && !isAligned(memory)) {
            data_ = ofThread();
            bytes_ = kOfThreadBytes;
        }
    }
    /// Null: transfer from or to the memory itself.
    char* data() const { return data_; }
    /// The most that can be transferred at a time.
    size_t bytes() const { return bytes_; }

    static char* ofThread() {
        thread_local const std::unique_ptr<char, Free> memory(
            static_cast<char*>(std::aligned_alloc(kDirectBytes, kOfThreadBytes)));
        return memory.get();
    }

private:
    static constexpr size_t kOfThreadBytes = 256u << 10;
    struct Free {
        void operator()(char* bytes) const { std::free(bytes); }
    };
    static bool isAligned(const char* memory) {
        return reinterpret_cast<uintptr_t>(memory) % kDirectBytes == 0;
    }

    const TransferPiece piece_;
    char* data_;
    size_t bytes_;
};

class Mapped final : public SharedBytes {
public:
    Mapped(void* memory, size_t bytes) : memory_(memory), bytes_(bytes) {}
    ~Mapped() override { ::munmap(memory_, bytes_); }
    char* data() override { return static_cast<char*>(memory_); }

private:
    void* const memory_;
    const size_t bytes_;
};

class PosixFile final : public File {
public:
    PosixFile(int fd, std::string path) : fd_(fd), path_(std::move(path)) {}
    ~PosixFile() override {
        ::close(fd_);
        if (directFd_ >= 0) {
            ::close(directFd_);
        }
    }

    bool bypassCacheFrom(size_t bytesMin) override {
        const std::string self = "/proc/self/fd/" + std::to_string(fd_);
        const int fd = ::open(self.c_str(), O_RDWR | O_DIRECT | O_CLOEXEC);
        if (fd < 0) {
            return false;
        }
        // Some file systems accept the flag and then refuse the transfer.
        if (::pread(fd, DirectBuffer::ofThread(), kDirectBytes, 0) < 0) {
            ::close(fd);
            return false;
        }
        prepareTransferMemory();
        directFd_ = fd;
        directBytesMin_ = bytesMin;
        ::posix_fadvise(fd_, 0, 0, POSIX_FADV_DONTNEED);
        return true;
    }

    StatusOr<size_t> pread(char* out, size_t bytes, uint64_t offset) override {
        if (!isDirect(bytes, offset)) {
            return transferIn(fd_, out, bytes, offset);
        }
        const DirectBuffer buffer(out, bytes);
        if (buffer.data() == nullptr) {
            return transferIn(directFd_, out, bytes, offset);
        }
        for (size_t done = 0; done < bytes;) {
            const size_t piece = std::min(bytes - done, buffer.bytes());
            FRESHET_ASSIGN_OR_RETURN(const size_t got,
                                     transferIn(directFd_, buffer.data(), piece, offset + done));
            std::memcpy(out + done, buffer.data(), got);
            done += got;
            if (got != piece) {
                return done;
            }
        }
        return bytes;
    }

    Status pwrite(ByteView data, uint64_t offset) override {
        if (!isDirect(data.size(), offset)) {
            return transferOut(fd_, data, offset);
        }
        const DirectBuffer buffer(data.data(), data.size());
        if (buffer.data() == nullptr) {
            return transferOut(directFd_, data, offset);
        }
        for (size_t done = 0; done < data.size();) {
            const ByteView piece = data.substr(done, buffer.bytes());
            std::memcpy(buffer.data(), piece.data(), piece.size());
            FRESHET_RETURN_IF_ERROR(
                transferOut(directFd_, ByteView(buffer.data(), piece.size()), offset + done));
            done += piece.size();
        }
        return Status::ok();
    }
    Status allocate(uint64_t offset, uint64_t bytes) override {
        FRESHET_ASSIGN_OR_RETURN(const uint64_t end, size());
        // More file systems can promise space behind a file's end than zeros where data was.
        const int mode = offset < end ? FALLOC_FL_ZERO_RANGE : 0;
        int result = 0;
        while ((result = ::fallocate(
                    fd_, mode, static_cast<off_t>(offset), static_cast<off_t>(bytes))) != 0 &&
               errno == EINTR) {
        }
        if (result != 0 && errno == EOPNOTSUPP) {
            return File::allocate(offset, bytes);
        }
        return result == 0 ? Status::ok() : failure("fallocate", path_, errno);
    }
    /// Around the page cache where the file system can do that: the zeros will not be read, and
    /// copying them into cache pages costs more than everything else.
    Status pwriteZeros(uint64_t offset, size_t bytes) override {
        alignas(4096) static char zeros[1u << 20];  // never written: takes no space in the program
        const int flags = ::fcntl(fd_, F_GETFL);
        if (flags < 0 || ::fcntl(fd_, F_SETFL, flags | O_DIRECT) != 0) {
            return File::pwriteZeros(offset, bytes);
        }
        Status status;
        for (size_t done = 0; done < bytes && status.isOk(); done += sizeof(zeros)) {
            status = pwrite(ByteView(zeros, std::min(bytes - done, sizeof(zeros))), offset + done);
        }
        if (::fcntl(fd_, F_SETFL, flags) != 0) {
            return failure("fcntl", path_, errno);
        }
        // Some file systems accept the flag and then refuse the write.
        return status.code() == Code::kIo ? File::pwriteZeros(offset, bytes) : status;
    }

    StatusOr<std::unique_ptr<SharedBytes>> share(size_t bytes) override {
        // Its pages are read into the system's cache and not mapped yet: they count as this
        // process's memory only once they are used.
        ::posix_fadvise(fd_, 0, static_cast<off_t>(bytes), POSIX_FADV_WILLNEED);
        void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
        if (memory == MAP_FAILED) {
            return failure("mmap", path_, errno);
        }
        return std::unique_ptr<SharedBytes>(std::make_unique<Mapped>(memory, bytes));
    }

    Status sync() override {
        return ::fdatasync(fd_) == 0 ? Status::ok() : failure("fdatasync", path_, errno);
    }

    StatusOr<uint64_t> size() override {
        struct stat info;
        if (::fstat(fd_, &info) != 0) {
            return failure("stat", path_, errno);
        }
        return static_cast<uint64_t>(info.st_size);
    }

    Status truncate(uint64_t bytes) override {
        return ::ftruncate(fd_, static_cast<off_t>(bytes)) == 0 ? Status::ok()
                                                                : failure("truncate", path_, errno);
    }

    void forget(uint64_t offset, uint64_t bytes) override {
        ::posix_fadvise(
            fd_, static_cast<off_t>(offset), static_cast<off_t>(bytes), POSIX_FADV_DONTNEED);
    }

    int blockDescriptor() const override { return directFd_ >= 0 ? directFd_ : fd_; }
    bool bypassesCache() const override { return directFd_ >= 0; }

private:
    bool isDirect(size_t bytes, uint64_t offset) const {
        return directFd_ >= 0 && (bytes | offset) % kDirectBytes == 0 && bytes >= directBytesMin_;
    }

    StatusOr<size_t> transferIn(int fd, char* out, size_t bytes, uint64_t offset) {
        size_t done = 0;
        while (done < bytes) {
            ssize_t n = ::pread(fd, out + done, bytes - done, static_cast<off_t>(offset + done));
            if (n == 0) {
                break;
            }
            if (n < 0) {
                if (errno == EINTR) {
                    continue;
                }
                return failure("read", path_, errno);
            }
            done += static_cast<size_t>(n);
        }
        return done;
    }

    Status transferOut(int fd, ByteView data, uint64_t offset) {
        size_t done = 0;
        while (done < data.size()) {
            ssize_t n = ::pwrite(
                fd, data.data() + done, data.size() - done, static_cast<off_t>(offset + done));
            if (n < 0) {
                if (errno == EINTR) {
                    continue;
                }
                return failure("write", path_, errno);
            }
            if (n == 0) {
                return failure("write", path_, EIO);
            }
            done += static_cast<size_t>(n);
        }
        return Status::ok();
    }

    const int fd_;
    int directFd_ = -1;
    size_t directBytesMin_ = 0;
    const std::string path_;
};

class PosixLock final : public FileLock {
public:
    explicit PosixLock(int fd) : fd_(fd) {}
    ~PosixLock() override { ::close(fd_); }

private:
    const int fd_;
};

int openFlags(OpenMode mode) {
    switch (mode) {
        case OpenMode::kRead:
            return O_RDONLY;
        case OpenMode::kWrite:
            return O_RDWR;
        case OpenMode::kCreate:
            return O_RDWR | O_CREAT;
        case OpenMode::kCreateNew:
            return O_RDWR | O_CREAT | O_EXCL;
    }
    return O_RDONLY;
}

Status makeOneDirectory(const std::string& path) {
    if (::mkdir(path.c_str(), 0700) == 0 || errno == EEXIST) {
        return Status::ok();
    }
    return failure("create directory", path, errno);
}

class PosixFileSystem final : public FileSystem {
public:
    StatusOr<std::unique_ptr<File>> open(const std::string& path, OpenMode mode) override {
        int fd = ::open(path.c_str(), openFlags(mode) | O_CLOEXEC, 0600);
        if (fd < 0) {
            return failure("open", path, errno);
        }
        return std::unique_ptr<File>(std::make_unique<PosixFile>(fd, path));
    }

    StatusOr<std::vector<std::string>> list(const std::string& directory) override {
        DIR* dir = ::opendir(directory.c_str());
        if (dir == nullptr) {
            return failure("list", directory, errno);
        }
        std::vector<std::string> names;
        while (dirent* entry = ::readdir(dir)) {
            std::string name = entry->d_name;
            if (name != "." && name != "..") {
                names.push_back(std::move(name));
            }
        }
        ::closedir(dir);
        std::sort(names.begin(), names.end());
        return names;
    }

    Status makeDirectory(const std::string& path) override {
        for (size_t slash = path.find('/', 1); slash != std::string::npos;
             slash = path.find('/', slash + 1)) {
            FRESHET_RETURN_IF_ERROR(makeOneDirectory(path.substr(0, slash)));
        }
        return makeOneDirectory(path);
    }

    Status rename(const std::string& from, const std::string& to) override {
        return ::rename(from.c_str(), to.c_str()) == 0 ? Status::ok()
                                                       : failure("rename", from, errno);
    }

    Status remove(const std::string& path) override {
        return ::unlink(path.c_str()) == 0 ? Status::ok() : failure("remove", path, errno);
    }

    /// File systems that copy on write look for new space on each store, and a store cannot report
    /// that there is none. These overwrite in place.
    bool sharesIn(const std::string& directory) override {
        constexpr decltype(statfs::f_type) kXfs = 0x58465342;
        struct statfs about {};
        return ::statfs(directory.c_str(), &about) == 0 &&
               (about.f_type == EXT4_SUPER_MAGIC || about.f_type == kXfs ||
                about.f_type == TMPFS_MAGIC);
    }

    DiskSpace spaceOf(const std::string& directory) override {
        struct statvfs about {};
        if (::statvfs(directory.c_str(), &about) != 0) {
            return {};
        }
        return {uint64_t{about.f_blocks} * about.f_frsize,
                uint64_t{about.f_bavail} * about.f_frsize};
    }

    uint64_t bootNumber() override {
        // A random name, of hexadecimal digits and hyphens.
        int fd = ::open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
        char name[64] = {};
        const ssize_t got = fd < 0 ? -1 : ::read(fd, name, sizeof(name));
        if (fd >= 0) {
            ::close(fd);
        }
        if (got <= 0) {
            return 0;
        }
        const uint64_t low = crc32c(name, static_cast<size_t>(got));
        return low << 32 | crc32c(name, static_cast<size_t>(got), ~static_cast<uint32_t>(low)) | 1;
    }

    Status syncDirectory(const std::string& path) override {
        int fd = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0) {
            return failure("open directory", path, errno);
        }
        int result = ::fsync(fd);
        int error = errno;
        ::close(fd);
        return result == 0 ? Status::ok() : failure("fsync directory", path, error);
    }

    StatusOr<std::unique_ptr<FileLock>> lock(const std::string& path) override {
        int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        if (fd < 0) {
            return failure("open", path, errno);
        }
        auto lock = std::make_unique<PosixLock>(fd);
        if (::flock(fd, LOCK_EX | LOCK_NB) != 0) {
            char holder[32] = {};
            ssize_t n = ::pread(fd, holder, sizeof(holder) - 1, 0);
            std::string pid(holder, static_cast<size_t>(std::max<ssize_t>(n, 0)));
            while (!pid.empty() && pid.back() == '\n') {
                pid.pop_back();
            }
            return Status(Code::kUnavailable, path + " is held by process " + pid);
        }
        std::string id = std::to_string(::getpid()) + "\n";
        if (::ftruncate(fd, 0) != 0 || ::pwrite(fd, id.data(), id.size(), 0) < 0) {
            return failure("write", path, errno);
        }
        return std::unique_ptr<FileLock>(std::move(lock));
    }
};

}  // namespace

FileSystem& FileSystem::posix() {
    static PosixFileSystem instance;
    return instance;
}

}  // namespace freshet::platform
