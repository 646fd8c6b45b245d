// SPDX-License-Identifier: Apache-2.0
#include "freshet/transport/session/admission.h"

#include "freshet/base/assert.h"
#include "freshet/platform/clock.h"

#include <algorithm>

namespace freshet::transport {
namespace {

constexpr uint64_t kMiddleBytesMax = 1 << 20;

}  // namespace

Admission::Admission(std::shared_ptr<sync::MemoryPool> pool, uint64_t patienceMillis)
    : pool_(std::move(pool)), patienceNanos_(patienceMillis * 1'000'000) {
    if (pool_->bytesMax() != 0) {
        queues_[0].bytesMax = pool_->bytesMax() / 8;
        queues_[1].bytesMax = pool_->shareMax();
    }
}

Admission::Queue& Admission::queueOf(uint64_t bytes) {
    return queues_[bytes <= kMiddleBytesMax ? 0 : 1];
}

void Admission::admit() {
    Tokens woken;
    {
        std::lock_guard<sync::Mutex> lock(mutex_);
        admitLocked(&woken);
    }
    wakeAll(woken);
}

void Admission::admitLocked(Tokens* woken) {
    const uint64_t now = platform::coarseNanos();
    for (Queue& queue : queues_) {
        while (!queue.waiting.empty() && admitFirst(queue, now)) {
            Place& place = *queue.waiting.front();
            queue.waiting.pop_front();
            if (place.wake_.isSet()) {
                woken->push_back(std::move(place.wake_));
            }
        }
    }
}

bool Admission::admitFirst(Queue& queue, uint64_t now) {
    Place& place = *queue.waiting.front();
    if (queue.bytes != 0 && place.bytes_ > queue.bytesMax - std::min(queue.bytes, queue.bytesMax)) {
        return false;
    }
    if (!place.hold_.tryResize(place.bytes_)) {
        // The holders of the pool's memory may keep it indefinitely: one message at a time is
        // admitted then.
        if (queue.bytes != 0 || now - place.since_ < patienceNanos_) {
            return false;
        }
        place.hold_.resize(place.bytes_);
    }
    queue.bytes += place.bytes_;
    place.isAdmitted_ = true;
    return true;
}

bool Admission::isPressed() {
    std::lock_guard<sync::Mutex> lock(mutex_);
    const uint64_t now = platform::coarseNanos();
    const uint64_t most = pool_->bytesMax();
    const bool isFull = most != 0 && pool_->used() >= most - most / 4;
    fullSince_ = !isFull ? 0 : fullSince_ == 0 ? now : fullSince_;
    const auto isLong = [&](uint64_t since) { return now - since >= patienceNanos_; };
    return (isFull && isLong(fullSince_)) ||
           std::any_of(queues_.begin(), queues_.end(), [&](const Queue& queue) {
               return !queue.waiting.empty() && isLong(queue.waiting.front()->since_);
           });
}

void Admission::leave(Place& place) {
    Tokens woken;
    {
        std::lock_guard<sync::Mutex> lock(mutex_);
        Queue& queue = queueOf(place.bytes_);
        if (place.isAdmitted_) {
            queue.bytes -= place.bytes_;
        } else {
            queue.waiting.remove(&place);
        }
        admitLocked(&woken);
    }
    wakeAll(woken);
}

void Admission::wakeAll(const Tokens& tokens) {
    for (const sync::WaitToken& token : tokens) {
        token.complete();
    }
}

Admission::Place::Place(Admission& admission, uint64_t bytes)
    : admission_(admission),
      bytes_(bytes),
      since_(platform::coarseNanos()),
      hold_(admission.pool_.get()) {
    Tokens woken;
    {
        std::lock_guard<sync::Mutex> lock(admission_.mutex_);
        admission_.queueOf(bytes).waiting.push_back(this);
        admission_.admitLocked(&woken);
    }
    wakeAll(woken);
}

Admission::Place::~Place() {
    admission_.leave(*this);
}

bool Admission::Place::isAdmitted() const {
    std::lock_guard<sync::Mutex> lock(admission_.mutex_);
    return isAdmitted_;
}

bool Admission::Place::wakeBy(sync::WaitToken token) {
    std::lock_guard<sync::Mutex> lock(admission_.mutex_);
    wake_ = std::move(token);
    return !isAdmitted_;
}

sync::MemoryHold Admission::Place::takeHold() {
    std::lock_guard<sync::Mutex> lock(admission_.mutex_);
    invariant(isAdmitted_);
    return std::move(hold_);
}

}  // namespace freshet::transport
