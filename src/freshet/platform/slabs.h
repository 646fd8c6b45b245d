// SPDX-License-Identifier: Apache-2.0
/// Slabs: memory for large values in few large mappings, so that a network adapter can be told of
/// them once and then send values from where they lie. Who stores values allocates here, who sends
/// them asks in which slab they are; neither knows the other. Any thread; a short mutex, which is
/// not held while memory is mapped or given back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

namespace freshet::platform {

/// One mapping. Good while something in it is allocated.
struct Slab {
    uint64_t number = 0;  // never used again; 0: there is none
    char* begin = nullptr;
    size_t bytes = 0;
};

/// Whoever has told others of slabs.
class SlabUser {
public:
    /// Nothing is left in the slab, and its memory goes to the system when this returns. On the
    /// thread that released the last of it.
    virtual void onSlabGoes(const Slab& slab) = 0;

protected:
    ~SlabUser() = default;
};

class Slabs {
public:
    static constexpr size_t kSlabBytes = 8u << 20;
    /// Room is given out in these: a value of 16 KiB and a little more wastes half of one.
    static constexpr size_t kUnitBytes = 1024;

    /// `slabBytes` is a multiple of the page size.
    explicit Slabs(size_t slabBytes = kSlabBytes) : slabBytes_(slabBytes) {}
    /// REQUIRES: everything was released, and nobody uses it.
    ~Slabs();
    Slabs(const Slabs&) = delete;
    Slabs& operator=(const Slabs&) = delete;

    /// Aligned to a unit. What is larger than a slab gets one of its own. Throws std::bad_alloc
    /// when the system has no more, as operator new does.
    void* allocate(size_t bytes);
    /// REQUIRES: `bytes` as they were asked for.
    void release(void* memory, size_t bytes);

    /// The slab that has this byte, which is allocated as long as the caller cares.
    Slab find(const void* place) const;
    /// From now on `user` is told of slabs that go. Until remove(), which waits while it is told.
    void add(SlabUser* user);
    void remove(SlabUser* user);

    size_t bytesUsed() const;    // in whole units
    size_t bytesMapped() const;  // by all slabs, one that is spare included
    size_t bytesFree() const;    // what of that is not used

private:
    using Run = std::pair<size_t, char*>;  // length, place

    size_t roomOf(size_t bytes) const { return (bytes + kUnitBytes - 1) / kUnitBytes * kUnitBytes; }
    /// Null: there is no such room. As all below, under the mutex.
    char* takeFree(size_t room);
    void addFree(char* place, size_t room);
    void eraseFree(char* place, size_t room);
    const Slab& slabOf(const void* place) const;
    /// Makes the run one with its neighbours in the slab.
    Run joined(const Slab& slab, char* place, size_t room);
    Slab mapSlab(size_t bytes);
    void giveBack(const Slab& slab);

    const size_t slabBytes_;
    mutable std::mutex mutex_;
    std::map<const char*, Slab> slabs_;    // by their begin
    std::map<char*, size_t> freeByPlace_;  // runs that are free; no two of a slab touch
    std::set<Run> freeByLength_;           // the same
    uint64_t nextNumber_ = 1;
    size_t spares_ = 0;  // slabs that are free as a whole
    size_t used_ = 0;
    size_t mapped_ = 0;

    std::mutex usersMutex_;  // taken alone
    std::vector<SlabUser*> users_;
};

}  // namespace freshet::platform
