// SPDX-License-Identifier: Apache-2.0
/// Hazard pointers, the other way to know when memory may be freed: a thread publishes each object
/// that it holds, and an object that no thread holds is freed at once, however long any thread
/// stays in its slice. M. Michael, "Hazard pointers: safe memory reclamation for lock-free
/// objects", 2004.
///
/// A measured alternative to epochs (decision 0019): only programs that are built with
/// FRESHET_HAZARDS use it, for the pages of trees.
///
///   SAFETY  A holder publishes the object's address, has a fence, and checks again whether the
///           word still leads there. The freeing thread has unlinked the object (by its CAS on the
///           word), has a fence, and reads what all threads hold. One of the two fences comes
///           first. If it is the holder's, the publication is seen, and the object stays; else the
///           holder's second look finds the word changed, and it holds nothing. An address that was
///           freed and reused is held as the new object: the second look finds it linked.
#pragma once

#include "freshet/sync/atomic.h"
#include "freshet/sync/mutant.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace freshet::sync {

struct RetiredObject;

#ifdef FRESHET_HAZARDS
inline constexpr bool kUsesHazards = true;
#else
inline constexpr bool kUsesHazards = false;
#endif

/// The objects that one thread holds in its slices. Outside of slices it holds none, which is right
/// for a thread that has the objects to itself. Own thread only.
class alignas(kLineBytes) HazardCell {
public:
    /// The object that the word leads to; it is not freed until it is dropped or the thread's
    /// slices end. Without a free place for it, all objects are held from here on.
    template <typename T>
    T* hold(const Atomic<T*>& word) {
        const unsigned place = freePlace();
        if (slices_ != 0 && !holdsAll_ && place < kPlaces) {
            // [hazard.look] acquire: pairs with the store that linked the object.
            T* seen = word.load(kAcquire);
            for (;;) {
                publish(place, seen);
                // [hazard.again] acquire: as [hazard.look].
                T* again = word.load(kAcquire);
                if (again == seen) {
                    return seen;
                }
                seen = again;
            }
        }
        holdAll();
        return word.load(kAcquire);  // [hazard.look]
    }
    /// REQUIRES: held, unless all are.
    void drop(const void* object) {
        for (unsigned place = 0; place < kPlaces; ++place) {
            if (mine_[place] == object) {
                dropPlace(place);
                return;
            }
        }
    }
    /// No object is freed that can be reached from now on.
    void holdAll();

    /// Around all slices of the thread, in any domain.
    void beginSlice() { ++slices_; }
    void endSlice() {
        if (--slices_ == 0) {
            dropAll();
        }
    }

private:
    friend class Hazards;
    static constexpr unsigned kPlaces = 8;

    unsigned freePlace() const {
        unsigned place = 0;
        while (place < kPlaces && mine_[place] != nullptr) {
            ++place;
        }
        return place;
    }
    void publish(unsigned place, const void* object) {
        mine_[place] = object;
        // [hazard.hold] release: a thread that reads it knows that the object held here before is
        // no longer used. The fence orders it before the second look, against that of
        // [hazard.scan].
        held_[place].store(object, kRelease);
        if (!mutated(Mutant::kNoHoldFence)) {
            heavyFence();
        }
    }
    void dropPlace(unsigned place) {
        mine_[place] = nullptr;
        // [hazard.drop] release: pairs with [hazard.scan]: all use of it came before.
        held_[place].store(nullptr, mutated(Mutant::kDropRelaxed) ? kRelaxed : kRelease);
    }
    void dropAll();

    /// Written by: its thread. Read by: freeing threads [hazard.scan].
    ///   RECLAIM  cells are never freed; a cell passes from a thread that ends to a new one
    Atomic<const void*> held_[kPlaces] = {};
    Atomic<bool> all_{false};
    Atomic<bool> taken_{true};
    HazardCell* next_ = nullptr;  // set before it is published
    // The thread's own.
    const void* mine_[kPlaces] = {};
    bool holdsAll_ = false;
    uint32_t slices_ = 0;
};

/// All threads' cells.
class Hazards {
public:
    Hazards() = default;
    /// REQUIRES: no thread uses the cells.
    ~Hazards();
    Hazards(const Hazards&) = delete;
    Hazards& operator=(const Hazards&) = delete;

    /// A cell for the calling thread, until part().
    HazardCell* join();
    void part(HazardCell* cell);
    /// Frees the objects in the list that no thread holds; the calling thread has unlinked them, or
    /// has learned of them from the thread that did. Returns the bytes. The others stay in the
    /// list.
    size_t freeUnheld(std::vector<RetiredObject>* retired) const;

    /// The process's instance, never destroyed, and the calling thread's cell in it.
    static Hazards& all();
    static HazardCell& here() {
        if (ofThread_ == nullptr) {
            ofThread_ = joinForThread();
        }
        return *ofThread_;
    }

private:
    static HazardCell* joinForThread();

    inline static constinit thread_local HazardCell* ofThread_ = nullptr;
    /// Grows at the front [hazard.join]; cells never leave it.
    Atomic<HazardCell*> first_{nullptr};
};

}  // namespace freshet::sync
