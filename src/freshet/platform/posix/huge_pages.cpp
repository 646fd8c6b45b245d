// SPDX-License-Identifier: Apache-2.0
#include "freshet/platform/posix/huge_pages.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>

namespace freshet::platform {
namespace {

/// Writing to the first page also populates the last one if both are in one huge page.
bool populate(char* page) {
    const auto small = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
    ::madvise(page, kHugePageBytes, MADV_HUGEPAGE);
    // As a first write there would.
    if (::madvise(page, small, MADV_POPULATE_WRITE) != 0) {
        return false;
    }
    unsigned char isThere = 0;
    return ::mincore(page + kHugePageBytes - small, small, &isThere) == 0 && (isThere & 1) != 0;
}

}  // namespace

char* mapHugePages(size_t bytes) {
    // One more than needed, so that an aligned range fits wherever the mapping begins; the rest is
    // never touched.
    const size_t mappedBytes = bytes + kHugePageBytes;
    void* mapped =
        ::mmap(nullptr, mappedBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) {
        return nullptr;
    }
    char* const first = static_cast<char*>(mapped);
    const uintptr_t past = reinterpret_cast<uintptr_t>(mapped) % kHugePageBytes;
    char* const begin = first + (kHugePageBytes - past) % kHugePageBytes;
    ::munmap(first, static_cast<size_t>(begin - first));
    ::munmap(begin + bytes, kHugePageBytes - static_cast<size_t>(begin - first));
    for (size_t at = 0; at < bytes; at += kHugePageBytes) {
        if (!populate(begin + at)) {
            ::munmap(begin, bytes);
            return nullptr;
        }
    }
    return begin;
}

void unmapHugePages(char* memory, size_t bytes) {
    ::munmap(memory, bytes);
}

}  // namespace freshet::platform
