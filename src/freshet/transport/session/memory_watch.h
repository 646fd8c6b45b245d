// SPDX-License-Identifier: Apache-2.0
/// MemoryWatch: the sessions of one executor that hold memory until their peers move. Memory that
/// no pool counts one by one (a cut message, a small unread reply) is summed and bounded: over the
/// bound, the session that has stood still for longest is ended first. While the pool is short,
/// every session that holds a part of it has to move. One thread.
#pragma once

#include "freshet/base/status.h"
#include "freshet/sync/executor.h"
#include "freshet/sync/task.h"
#include "freshet/transport/session/admission.h"

#include <array>
#include <cstdint>
#include <list>
#include <optional>

namespace freshet::transport {

/// A session, as the watch sees it.
class WatchedPeer {
public:
    /// In both directions, since the session began.
    virtual uint64_t bytesMoved() const = 0;
    /// It waits for room: it resumes if its peer has left.
    virtual void lookForPeer() = 0;
    /// Ends the session: its peer is too slow.
    virtual void endSlow() = 0;

protected:
    ~WatchedPeer() = default;
};

class MemoryWatch {
public:
    /// Under pressure, a message or a reply must move this fast on average.
    static constexpr uint64_t kBytesPerSecondMin = 512 * 1024;
    /// A session that has moved within this time may keep what it holds.
    static constexpr uint64_t kStillNanos = 1'000'000'000;

    explicit MemoryWatch(sync::Executor& executor) : executor_(executor) {}
    /// REQUIRES: no entry is left.
    ~MemoryWatch();
    MemoryWatch(const MemoryWatch&) = delete;
    MemoryWatch& operator=(const MemoryWatch&) = delete;

    /// Once, before the first session. It outlives this. `executors`: how many share the pool.
    void use(Admission* admission, uint64_t executors);
    /// Null: nothing is counted.
    Admission* admission() { return admission_; }
    /// The memory that is counted in the sum only.
    uint64_t bytes() const { return bytes_; }

    enum class Phase : uint8_t {
        kSmall,    // its bytes are in the sum
        kCounted,  // the pool has counted them; it must move while others wait
        kWaiting,  // for room
    };

    /// A session's membership, while it holds something.
    class Entry {
    public:
        Entry(MemoryWatch& watch, WatchedPeer& peer) : watch_(watch), peer_(peer) {}
        ~Entry();
        Entry(const Entry&) = delete;
        Entry& operator=(const Entry&) = delete;
        /// Before the session waits. kLimit: the sum would exceed its bound.
        Status note(Phase phase, uint64_t smallBytes);

    private:
        friend class MemoryWatch;
        MemoryWatch& watch_;
        WatchedPeer& peer_;
        Phase phase_ = Phase::kSmall;
        bool isListed_ = false;
        bool isEnded_ = false;
        uint64_t bytes_ = 0;
        uint64_t movedAt_ = 0;    // when it was last seen to move
        uint64_t moved_ = 0;      // bytesMoved() then
        uint64_t countedAt_ = 0;  // when its phase became kCounted
        uint64_t movedBefore_ = 0;
        std::list<Entry*>::iterator place_;
    };

private:
    /// Those of one phase, the one noted longest ago first.
    std::list<Entry*>& listOf(Phase phase) { return lists_[static_cast<size_t>(phase)]; }
    void unlist(Entry& entry);
    void setBytes(Entry& entry, uint64_t bytes);
    void endStill(uint64_t now);
    void end(Entry& entry);
    bool isTooSlow(Entry& entry, uint64_t now) const;
    sync::Task<void> look();

    sync::Executor& executor_;
    Admission* admission_ = nullptr;
    uint64_t bytesMax_ = UINT64_MAX;  // over it the stillest are ended; over four times that,
                                      // newcomers
    uint64_t bytes_ = 0;
    sync::MemoryHold hold_;  // of bytes_
    std::array<std::list<Entry*>, 3> lists_;
    bool isLooking_ = false;
};

/// What a session holds while its peer has to move.
struct HeldMemory {
    HeldMemory(MemoryWatch& watch, WatchedPeer& peer) : entry(watch, peer) {}
    /// Before it waits: `cutBytes` is the memory of an incomplete message, `replyBytes` that of a
    /// reply not completely sent. Status as Entry::note().
    Status note(MemoryWatch::Phase phase, size_t cutBytes, size_t replyBytes);

    MemoryWatch::Entry entry;
    std::optional<Admission::Ticket> ticket;  // of a long message
};

/// The status with which a session ends that was too slow.
Status tooSlow();

}  // namespace freshet::transport
