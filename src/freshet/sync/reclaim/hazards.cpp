// SPDX-License-Identifier: Apache-2.0
#include "freshet/sync/hazards.h"

#include "freshet/base/assert.h"
#include "freshet/sync/reclaim/retired.h"

#include <algorithm>

namespace freshet::sync {

void HazardCell::holdAll() {
    if (!holdsAll_ && slices_ != 0) {
        holdsAll_ = true;
        // [hazard.all] release: as [hazard.hold], with the same fence.
        all_.store(true, kRelease);
        heavyFence();
    }
}

void HazardCell::dropAll() {
    for (unsigned place = 0; place < kPlaces; ++place) {
        if (mine_[place] != nullptr) {
            dropPlace(place);
        }
    }
    if (holdsAll_) {
        holdsAll_ = false;
        // [hazard.notAll] release: as [hazard.drop].
        all_.store(false, kRelease);
    }
}

Hazards::~Hazards() {
    // [hazard.end] relaxed: no other thread uses the cells.
    for (HazardCell* cell = first_.load(kRelaxed); cell != nullptr;) {
        HazardCell* next = cell->next_;
        delete cell;
        cell = next;
    }
}

HazardCell* Hazards::join() {
    // [hazard.cells] acquire: pairs with [hazard.join].
    for (HazardCell* cell = first_.load(kAcquire); cell != nullptr; cell = cell->next_) {
        bool taken = false;
        // [hazard.take] CAS. ORDER: acquire pairs with [hazard.part]; relaxed on failure: the next
        //            one is tried.
        //   LOST     another thread has it.  PROGRESS one attempt for each cell.
        if (cell->taken_.compare_exchange_strong(taken, true, kAcquire, kRelaxed)) {
            return cell;
        }
    }
    auto* cell = new HazardCell;
    // [hazard.first] relaxed: only fed to the CAS.
    cell->next_ = first_.load(kRelaxed);
    // [hazard.join] CAS. ORDER: release pairs with [hazard.cells]; relaxed on failure: tried again.
    //            Before the new thread's first fence, so a scan whose fence comes later sees it.
    //   LOST     another cell was added.  PROGRESS lock-free: our failure is another's success.
    while (!first_.compare_exchange_weak(cell->next_, cell, kRelease, kRelaxed)) {
    }
    return cell;
}

void Hazards::part(HazardCell* cell) {
    invariant(cell->slices_ == 0);
    // [hazard.part] release: pairs with [hazard.take].
    cell->taken_.store(false, kRelease);
}

size_t Hazards::freeUnheld(std::vector<RetiredObject>* retired) const {
    if (!mutated(Mutant::kNoScanFence)) {
        heavyFence();
    }
    std::vector<const void*> held;
    // [hazard.cells] acquire: pairs with [hazard.join].
    for (HazardCell* cell = first_.load(kAcquire); cell != nullptr; cell = cell->next_) {
        // [hazard.scan] acquire: pairs with [hazard.drop], [hazard.notAll] and [hazard.hold].
        if (cell->all_.load(kAcquire)) {
            return 0;
        }
        for (const Atomic<const void*>& place : cell->held_) {
            if (const void* object = place.load(kAcquire)) {
                held.push_back(object);
            }
        }
    }
    std::sort(held.begin(), held.end());
    const auto firstFree =
        std::partition(retired->begin(), retired->end(), [&](const RetiredObject& object) {
            return std::binary_search(held.begin(), held.end(), object.object);
        });
    const std::vector<RetiredObject> free(firstFree, retired->end());
    retired->erase(firstFree, retired->end());
    size_t bytes = 0;
    for (const RetiredObject& object : free) {
        object.free(object.object);
        bytes += object.bytes;
    }
    return bytes;
}

Hazards& Hazards::all() {
    // Never destroyed: threads may end after static objects.
    static auto& hazards = *new Hazards;
    return hazards;
}

HazardCell* Hazards::joinForThread() {
    struct Mine {
        HazardCell* const cell = all().join();
        ~Mine() { all().part(cell); }
    };
    static thread_local Mine mine;
    return mine.cell;
}

}  // namespace freshet::sync
