// SPDX-License-Identifier: Apache-2.0
#include "freshet/transport/rdma/ring_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace freshet::transport::rdma {
namespace {

Status systemFailure(const char* what) {
    return Status(Code::kIo, std::string("Cannot make a ring: ") + what + ": " + strerror(errno));
}

/// Maps the same pages at `at` and directly after.
bool mapTwice(char* at, size_t bytes, int memory) {
    for (char* half : {at, at + bytes}) {
        void* mapped =
            ::mmap(half, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, memory, 0);
        if (mapped == MAP_FAILED) {
            return false;
        }
    }
    return true;
}

}  // namespace

StatusOr<std::shared_ptr<RingMemory>> RingMemory::create(size_t bytes) {
    invariant(bytes > 0 && bytes % static_cast<size_t>(::sysconf(_SC_PAGESIZE)) == 0);
    const int memory = ::memfd_create("freshet-ring", MFD_CLOEXEC);
    if (memory < 0) {
        return systemFailure("memfd_create");
    }
    void* room = MAP_FAILED;
    Status status;
    if (::ftruncate(memory, static_cast<off_t>(bytes)) != 0) {
        status = systemFailure("ftruncate");
    } else if (room = ::mmap(nullptr, 2 * bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
               room == MAP_FAILED || !mapTwice(static_cast<char*>(room), bytes, memory)) {
        status = systemFailure("mmap");
    }
    ::close(memory);  // the mappings keep it
    if (!status.isOk()) {
        if (room != MAP_FAILED) {
            ::munmap(room, 2 * bytes);
        }
        return status;
    }
    return std::shared_ptr<RingMemory>(new RingMemory(static_cast<char*>(room), bytes));
}

RingMemory::~RingMemory() {
    ::munmap(data_, 2 * bytes_);
}

}  // namespace freshet::transport::rdma
