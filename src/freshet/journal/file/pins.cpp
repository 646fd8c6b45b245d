// SPDX-License-Identifier: Apache-2.0
#include "freshet/journal/file/pins.h"

#include <algorithm>

namespace freshet::journal {

std::shared_ptr<PinState> PinSet::add(uint64_t position) {
    auto pin = std::make_shared<PinState>();
    pin->position.store(position, sync::kRelaxed);  // [pin.position]
    std::lock_guard<sync::Mutex> lock(mutex_);
    if (position < recycledTo_) {
        pin->isVoid.store(true, sync::kRelaxed);  // [pin.void]
    } else {
        pins_.push_back(pin);
    }
    return pin;
}

void PinSet::remove(const std::shared_ptr<PinState>& pin) {
    std::lock_guard<sync::Mutex> lock(mutex_);
    std::erase(pins_, pin);
}

bool PinSet::letGo(uint64_t end, bool force) {
    std::lock_guard<sync::Mutex> lock(mutex_);
    auto needs = [end](const std::shared_ptr<PinState>& pin) {
        return pin->position.load(sync::kRelaxed) < end;  // [pin.position]
    };
    if (!force && std::any_of(pins_.begin(), pins_.end(), needs)) {
        return false;
    }
    std::erase_if(pins_, [&](const std::shared_ptr<PinState>& pin) {
        const bool isLost = needs(pin);
        if (isLost) {
            pin->isVoid.store(true, sync::kRelaxed);  // [pin.void]
        }
        return isLost;
    });
    recycledTo_ = std::max(recycledTo_, end);
    return true;
}

uint64_t PinSet::recycledTo() const {
    std::lock_guard<sync::Mutex> lock(mutex_);
    return recycledTo_;
}

}  // namespace freshet::journal
