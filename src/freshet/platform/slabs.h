// SPDX-License-Identifier: Apache-2.0
/// Slabs: memory for large values in few large mappings, so that a network adapter can register
/// them once and then send values from where they are stored. The code that stores values allocates
/// here, the code that sends them asks for the slab of an address; neither knows the other. Any
/// thread; a short mutex, which is not held while memory is mapped or returned.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

namespace freshet::platform {

/// One mapping. Valid while something in it is allocated.
struct Slab {
    uint64_t number = 0;  // never reused; 0: none
    char* begin = nullptr;
    size_t bytes = 0;
};

/// Implemented by code that has registered slabs elsewhere.
class SlabUser {
public:
    /// The slab is empty, and its memory returns to the system when this call returns. On the
    /// thread that released the last part of it.
    virtual void onSlabGoes(const Slab& slab) = 0;

protected:
    ~SlabUser() = default;
};

class Slabs {
public:
    static constexpr size_t kSlabBytes = 8u << 20;
    /// Space is allocated in these units: a value of 16 KiB and a little more wastes half of one.
    static constexpr size_t kUnitBytes = 1024;

    /// `slabBytes` is a multiple of the page size.
    explicit Slabs(size_t slabBytes = kSlabBytes) : slabBytes_(slabBytes) {}
    /// REQUIRES: everything was released, and no thread uses it.
    ~Slabs();
    Slabs(const Slabs&) = delete;
    Slabs& operator=(const Slabs&) = delete;

    /// Aligned to a unit. A larger size than a slab gets a slab of its own. Throws std::bad_alloc
    /// when the system has no more, as operator new does.
    void* allocate(size_t bytes);
    /// REQUIRES: `bytes` as allocated.
    void release(void* memory, size_t bytes);

    /// The slab that contains this address, which must stay allocated while the caller uses the
    /// result.
    Slab find(const void* place) const;
    /// From now on `user` is notified of slabs that go, until remove(), which waits for a
    /// notification in progress.
    void add(SlabUser* user);
    void remove(SlabUser* user);

    size_t bytesUsed() const;    // in whole units
    size_t bytesMapped() const;  // by all slabs, a spare one included
    size_t bytesFree() const;    // the unused part of that

private:
    using Run = std::pair<size_t, char*>;  // length, place

    size_t roomOf(size_t bytes) const { return (bytes + kUnitBytes - 1) / kUnitBytes * kUnitBytes; }
    /// Null: no run is long enough. As all below, under the mutex.
    char* takeFree(size_t room);
    void addFree(char* place, size_t room);
    void eraseFree(char* place, size_t room);
    const Slab& slabOf(const void* place) const;
    /// Merges the run with its free neighbours in the slab.
    Run joined(const Slab& slab, char* place, size_t room);
    Slab mapSlab(size_t bytes);
    void giveBack(const Slab& slab);

    const size_t slabBytes_;
    mutable std::mutex mutex_;
    std::map<const char*, Slab> slabs_;    // by their begin
    std::map<char*, size_t> freeByPlace_;  // free runs; no two of a slab touch
    std::set<Run> freeByLength_;           // the same runs
    uint64_t nextNumber_ = 1;
    size_t spares_ = 0;  // entirely free slabs
    size_t used_ = 0;
    size_t mapped_ = 0;

    std::mutex usersMutex_;  // taken alone
    std::vector<SlabUser*> users_;
};

}  // namespace freshet::platform
