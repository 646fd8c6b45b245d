// SPDX-License-Identifier: Apache-2.0
/// Free runs are kept by address, to be merged with their neighbours, and by length, to find the
/// shortest that fits. With AddressSanitizer all free memory is poisoned.
#include "freshet/platform/slabs.h"

#include "freshet/base/assert.h"
#include "freshet/base/sanitizer.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <new>

namespace freshet::platform {
namespace {

size_t wholePages(size_t bytes) {
    const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
    return (bytes + page - 1) / page * page;
}

}  // namespace

Slabs::~Slabs() {
    dcheck(used_ == 0);
    for (const auto& [begin, slab] : slabs_) {
        giveBack(slab);
    }
}

void* Slabs::allocate(size_t bytes) {
    const size_t room = roomOf(bytes);
    std::unique_lock<std::mutex> lock(mutex_);
    char* place = takeFree(room);
    if (place == nullptr) {
        lock.unlock();
        const Slab slab = mapSlab(std::max(slabBytes_, wholePages(room)));
        lock.lock();
        slabs_[slab.begin] = slab;
        slabs_[slab.begin].number = nextNumber_++;
        mapped_ += slab.bytes;
        if (slab.bytes > room) {
            addFree(slab.begin + room, slab.bytes - room);
        }
        place = slab.begin;
    }
    used_ += room;
    unpoison(place, bytes);
    return place;
}

char* Slabs::takeFree(size_t room) {
    const auto found = freeByLength_.lower_bound({room, nullptr});
    if (found == freeByLength_.end()) {
        return nullptr;
    }
    const auto [length, place] = *found;
    eraseFree(place, length);
    if (length == slabOf(place).bytes) {
        --spares_;
    }
    if (length > room) {
        addFree(place + room, length - room);
    }
    return place;
}

void Slabs::addFree(char* place, size_t room) {
    freeByPlace_[place] = room;
    freeByLength_.insert({room, place});
}

void Slabs::eraseFree(char* place, size_t room) {
    freeByPlace_.erase(place);
    freeByLength_.erase({room, place});
}

const Slab& Slabs::slabOf(const void* place) const {
    const auto after = slabs_.upper_bound(static_cast<const char*>(place));
    invariant(after != slabs_.begin());
    return std::prev(after)->second;
}

Slabs::Run Slabs::joined(const Slab& slab, char* place, size_t room) {
    const auto after = freeByPlace_.find(place + room);
    if (after != freeByPlace_.end() && after->first < slab.begin + slab.bytes) {
        const auto [next, length] = *after;
        eraseFree(next, length);
        room += length;
    }
    auto before = freeByPlace_.lower_bound(place);
    if (before != freeByPlace_.begin()) {
        const auto [last, length] = *--before;
        if (last >= slab.begin && last + length == place) {
            eraseFree(last, length);
            return {length + room, last};
        }
    }
    return {room, place};
}

void Slabs::release(void* memory, size_t bytes) {
    const size_t room = roomOf(bytes);
    auto* const place = static_cast<char*>(memory);
    poison(place, room);
    Slab gone;
    {
        std::lock_guard<std::mutex> lock(mutex_);
        const Slab slab = slabOf(place);
        used_ -= room;
        const auto [length, begin] = joined(slab, place, room);
        if (length < slab.bytes) {
            addFree(begin, length);
            return;
        }
        if (spares_ == 0 && slab.bytes == slabBytes_) {
            ++spares_;
            addFree(begin, length);
            return;
        }
        gone = slab;
        slabs_.erase(slab.begin);
        mapped_ -= slab.bytes;
    }
    {
        std::lock_guard<std::mutex> lock(usersMutex_);
        for (SlabUser* user : users_) {
            user->onSlabGoes(gone);
        }
    }
    giveBack(gone);
}

Slab Slabs::find(const void* place) const {
    const auto* const byte = static_cast<const char*>(place);
    std::lock_guard<std::mutex> lock(mutex_);
    const auto after = slabs_.upper_bound(byte);
    if (after == slabs_.begin()) {
        return {};
    }
    const Slab& slab = std::prev(after)->second;
    return byte < slab.begin + slab.bytes ? slab : Slab();
}

void Slabs::add(SlabUser* user) {
    std::lock_guard<std::mutex> lock(usersMutex_);
    users_.push_back(user);
}

void Slabs::remove(SlabUser* user) {
    std::lock_guard<std::mutex> lock(usersMutex_);
    std::erase(users_, user);
}

size_t Slabs::bytesUsed() const {
    std::lock_guard<std::mutex> lock(mutex_);
    return used_;
}

size_t Slabs::bytesMapped() const {
    std::lock_guard<std::mutex> lock(mutex_);
    return mapped_;
}

size_t Slabs::bytesFree() const {
    std::lock_guard<std::mutex> lock(mutex_);
    return mapped_ - used_;
}

Slab Slabs::mapSlab(size_t bytes) {
    void* const memory =
        ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        throw std::bad_alloc();
    }
    poison(memory, bytes);
    return {0, static_cast<char*>(memory), bytes};
}

void Slabs::giveBack(const Slab& slab) {
    unpoison(slab.begin, slab.bytes);  // other mappings may be placed there
    ::munmap(slab.begin, slab.bytes);
}

}  // namespace freshet::platform
