// SPDX-License-Identifier: Apache-2.0
#include "freshet/sync/reclaim/retired.h"

#include "freshet/base/assert.h"

#include <utility>

namespace freshet::sync {

size_t RetiredBag::freeAll() {
    std::vector<RetiredObject> old = std::exchange(objects, {});
    size_t bytes = 0;
    for (const RetiredObject& retired : old) {
        retired.free(retired.object);
        bytes += retired.bytes;
    }
    if (objects.empty()) {
        // Keeps the allocated capacity, within reason.
        constexpr size_t kObjectsKept = 4096;
        if (old.capacity() <= kObjectsKept) {
            old.clear();
            objects.swap(old);
        }
    }
    return bytes;
}

size_t RetiredBags::add(uint64_t epoch, const RetiredObject& object) {
    RetiredBag& bag = bags_[epoch & 3];
    size_t freed = 0;
    if (bag.epoch != epoch) {
        dcheck(bag.epoch < epoch);
        bag.epoch = epoch;
        freed = bag.freeAll();
    }
    bag.objects.push_back(object);
    return freed;
}

size_t RetiredBags::freeUpTo(uint64_t epoch) {
    size_t freed = 0;
    for (RetiredBag& bag : bags_) {
        if (bag.epoch <= epoch && !bag.objects.empty()) {
            freed += bag.freeAll();
        }
    }
    return freed;
}

void RetiredBags::giveTo(std::vector<RetiredBag>& out) {
    for (RetiredBag& bag : bags_) {
        if (!bag.objects.empty()) {
            out.push_back(std::exchange(bag, {}));
        }
    }
}

}  // namespace freshet::sync
