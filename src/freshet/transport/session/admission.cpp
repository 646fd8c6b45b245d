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
            Ticket& ticket = *queue.waiting.front();
            queue.waiting.pop_front();
            if (ticket.wake_.isSet()) {
                woken->push_back(std::move(ticket.wake_));
            }
        }
    }
}

bool Admission::admitFirst(Queue& queue, uint64_t now) {
    Ticket& ticket = *queue.waiting.front();
    if (queue.bytes != 0 &&
        ticket.bytes_ > queue.bytesMax - std::min(queue.bytes, queue.bytesMax)) {
        return false;
    }
    if (!ticket.hold_.tryResize(ticket.bytes_)) {
        // The holders of the pool's memory may keep it indefinitely: one message at a time is
        // admitted then.
        if (queue.bytes != 0 || now - ticket.since_ < patienceNanos_) {
            return false;
        }
        ticket.hold_.resize(ticket.bytes_);
    }
    queue.bytes += ticket.bytes_;
    ticket.isAdmitted_ = true;
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

void Admission::leave(Ticket& ticket) {
    Tokens woken;
    {
        std::lock_guard<sync::Mutex> lock(mutex_);
        Queue& queue = queueOf(ticket.bytes_);
        if (ticket.isAdmitted_) {
            queue.bytes -= ticket.bytes_;
        } else {
            queue.waiting.remove(&ticket);
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

Admission::Ticket::Ticket(Admission& admission, uint64_t bytes)
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

Admission::Ticket::~Ticket() {
    admission_.leave(*this);
}

bool Admission::Ticket::isAdmitted() const {
    std::lock_guard<sync::Mutex> lock(admission_.mutex_);
    return isAdmitted_;
}

bool Admission::Ticket::wakeBy(sync::WaitToken token) {
    std::lock_guard<sync::Mutex> lock(admission_.mutex_);
    wake_ = std::move(token);
    return !isAdmitted_;
}

sync::MemoryHold Admission::Ticket::takeHold() {
    std::lock_guard<sync::Mutex> lock(admission_.mutex_);
    invariant(isAdmitted_);
    return std::move(hold_);
}

}  // namespace freshet::transport
