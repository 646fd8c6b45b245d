// SPDX-License-Identifier: Apache-2.0
/// Hazard pointers, the other way to know when memory may be freed: a thread says of each object
/// that it holds it, and what nobody holds is freed at once, however long somebody stays in his
/// slice. M. Michael, "Hazard pointers: safe memory reclamation for lock-free objects", 2004.
///
/// A measured alternative to epochs (decision 0019): only programs that are built with
/// FRESHET_HAZARDS use it, for the pages of trees.
///
///   SAFETY  A holder publishes the object's address, has a fence, and looks again whether the word
///           still leads there. Who frees has unlinked the object (his CAS on the word), has a
///           fence, and reads what all hold. Of the two fences one is the first: if the holder's,
///           he is seen, and the object stays; else his second look finds the word changed, and he
///           holds nothing. An address that was freed and is used again is held like the new object
///           that it is: the second look finds it linked.
#pragma once

#include "freshet/sync/atomic.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace freshet::sync {

/// Deliberate mistakes, for the explore variant only; see epoch_mutant.h.
enum class HazardMutant : uint8_t {
    kNone,
    kNoHoldFence,  // holding has no store-load fence
    kNoScanFence,  // nor has reading what others hold
    kDropRelaxed,  // dropping does not publish that the object is no more used
};

#ifdef FRESHET_EXPLORE
inline HazardMutant hazardMutant = HazardMutant::kNone;
inline bool mutated(HazardMutant mutant) {
    return hazardMutant == mutant;
}
#else
constexpr bool mutated(HazardMutant) {
    return false;
}
#endif

struct RetiredObject;

#ifdef FRESHET_HAZARDS
inline constexpr bool kUsesHazards = true;
#else
inline constexpr bool kUsesHazards = false;
#endif

/// What one thread holds, in its slices; outside of all it holds nothing, which is right for who
/// has the objects for himself. Own thread only.
class alignas(kLineBytes) HazardCell {
public:
    /// What the word leads to; it is not freed until it is dropped or the thread's slices end.
    /// Without a free place for it all objects are held from here on.
    template <typename T>
    T* hold(const Atomic<T*>& word) {
        const unsigned place = freePlace();
        if (slices_ != 0 && !holdsAll_ && place < kPlaces) {
            // [hazard.look] acquire: pairs with whoever linked the object.
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
    /// Nothing is freed that can be reached from now on.
    void holdAll();

    /// Around all slices of the thread, of whatever domain.
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
        // [hazard.hold] release: who reads it knows that what was held here before is no more used.
        // The fence orders it before the second look, against that of [hazard.scan].
        held_[place].store(object, kRelease);
        if (!mutated(HazardMutant::kNoHoldFence)) {
            heavyFence();
        }
    }
    void dropPlace(unsigned place) {
        mine_[place] = nullptr;
        // [hazard.drop] release: pairs with [hazard.scan]: all use of it came before.
        held_[place].store(nullptr, mutated(HazardMutant::kDropRelaxed) ? kRelaxed : kRelease);
    }
    void dropAll();

    /// Written by: its thread. Read by: whoever frees [hazard.scan].
    ///   RECLAIM  cells stay and go from a thread that ends to a new one
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
    /// REQUIRES: nobody uses the cells.
    ~Hazards();
    Hazards(const Hazards&) = delete;
    Hazards& operator=(const Hazards&) = delete;

    /// A cell for the calling thread, until part().
    HazardCell* join();
    void part(HazardCell* cell);
    /// Frees what nobody holds of objects that the calling thread has unlinked, or has learned of
    /// from who did; returns the bytes. The others stay in the list.
    size_t freeUnheld(std::vector<RetiredObject>* retired) const;

    /// The process's own, never destroyed, and the calling thread's cell in it.
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
    /// Grows in front [hazard.join]; cells never leave it.
    Atomic<HazardCell*> first_{nullptr};
};

}  // namespace freshet::sync
