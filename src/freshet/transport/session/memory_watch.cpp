// SPDX-License-Identifier: Apache-2.0
#include "freshet/transport/session/memory_watch.h"

#include "freshet/platform/clock.h"

#include <algorithm>

namespace freshet::transport {
namespace {

constexpr uint64_t kNanosPerMs = 1'000'000;
constexpr uint64_t kNanosPerSecond = 1'000'000'000;

}  // namespace

MemoryWatch::~MemoryWatch() {
    invariant(std::all_of(lists_.begin(), lists_.end(), [](auto& list) { return list.empty(); }));
}

void MemoryWatch::use(Admission* admission, uint64_t executors) {
    admission_ = admission;
    hold_ = sync::MemoryHold(&admission->pool());
    if (const uint64_t most = admission->pool().bytesMax(); most != 0) {
        bytesMax_ = most / 8 / executors;
    }
}

void MemoryWatch::setBytes(Entry& entry, uint64_t bytes) {
    if (bytes != entry.bytes_) {
        bytes_ += bytes - entry.bytes_;
        entry.bytes_ = bytes;
        hold_.resize(bytes_);
    }
}

void MemoryWatch::unlist(Entry& entry) {
    if (std::exchange(entry.isListed_, false)) {
        listOf(entry.phase_).erase(entry.place_);
    }
}

void MemoryWatch::end(Entry& entry) {
    unlist(entry);
    setBytes(entry, 0);
    entry.isEnded_ = true;
    entry.peer_.endSlow();
}

/// Ends only as many as necessary.
void MemoryWatch::endStill(uint64_t now) {
    std::list<Entry*>& small = listOf(Phase::kSmall);
    while (bytes_ > bytesMax_ && !small.empty() && now - small.front()->movedAt_ >= kStillNanos) {
        end(*small.front());
    }
}

MemoryWatch::Entry::~Entry() {
    watch_.unlist(*this);
    watch_.setBytes(*this, 0);
}

Status MemoryWatch::Entry::note(Phase phase, uint64_t smallBytes) {
    if (watch_.admission_ == nullptr || isEnded_) {
        return Status::ok();
    }
    const uint64_t now = platform::coarseNanos();
    watch_.unlist(*this);
    if (phase == Phase::kCounted && (phase_ != phase || countedAt_ == 0)) {
        countedAt_ = now;
        movedBefore_ = peer_.bytesMoved();
    }
    phase_ = phase;
    if (const uint64_t moved = peer_.bytesMoved(); moved != moved_ || movedAt_ == 0) {
        moved_ = moved;
        movedAt_ = now;
    }
    watch_.setBytes(*this, smallBytes);
    if (watch_.bytes_ > watch_.bytesMax_) {
        watch_.endStill(now);
        if (watch_.bytes_ > 4 * watch_.bytesMax_) {
            return Status(Code::kLimit,
                          "Connections with cut or unread messages hold too much memory");
        }
    }
    std::list<Entry*>& list = watch_.listOf(phase);
    place_ = list.insert(list.end(), this);
    isListed_ = true;
    if (phase != Phase::kSmall && !std::exchange(watch_.isLooking_, true)) {
        sync::spawn(watch_.executor_, watch_.look());
    }
    return Status::ok();
}

bool MemoryWatch::isTooSlow(Entry& entry, uint64_t now) const {
    const uint64_t moved = entry.peer_.bytesMoved();
    if (moved != entry.moved_) {
        entry.moved_ = moved;
        entry.movedAt_ = now;
    }
    const uint64_t patience = admission_->patienceNanos();
    const uint64_t nanos = now - entry.countedAt_;
    const uint64_t wanted = nanos / kNanosPerMs * kBytesPerSecondMin / 1'000;
    return now - entry.movedAt_ >= patience ||
           (nanos >= kNanosPerSecond + patience && moved - entry.movedBefore_ < wanted);
}

/// Ends when no session is left to watch, so that an idle reactor sleeps.
sync::Task<void> MemoryWatch::look() {
    const uint64_t tickMillis =
        std::clamp<uint64_t>(admission_->patienceNanos() / kNanosPerMs / 8, 10, 500);
    while (!listOf(Phase::kCounted).empty() || !listOf(Phase::kWaiting).empty()) {
        const sync::WaitToken due = executor_.after(tickMillis);
        if (due.isDone()) {
            break;  // timers have ended
        }
        if (!listOf(Phase::kWaiting).empty()) {
            admission_->pool().completeWhenGivenBack(due);
            admission_->admit();
        }
        co_await sync::wait(due);
        const uint64_t now = platform::coarseNanos();
        for (Entry* entry : listOf(Phase::kWaiting)) {
            entry->peer_.lookForPeer();
        }
        // Called also to note since when it is so.
        const bool isPressed = admission_->isPressed();
        std::list<Entry*>& counted = listOf(Phase::kCounted);
        for (auto at = counted.begin(); at != counted.end();) {
            Entry& entry = **at++;
            if (isTooSlow(entry, now) && isPressed) {
                end(entry);
            }
        }
    }
    isLooking_ = false;
}

Status HeldMemory::note(MemoryWatch::Phase phase, size_t cutBytes, size_t replyBytes) {
    const bool isMessageCounted = ticket.has_value() && ticket->isAdmitted();
    const bool isReplyCounted = replyBytes > Admission::kFreeBytesMax;
    return entry.note(isMessageCounted || isReplyCounted ? MemoryWatch::Phase::kCounted : phase,
                      (isMessageCounted ? 0 : cutBytes) + (isReplyCounted ? 0 : replyBytes));
}

Status tooSlow() {
    return Status(Code::kTimeout, "it held memory that others need, and was too slow to go on");
}

}  // namespace freshet::transport
