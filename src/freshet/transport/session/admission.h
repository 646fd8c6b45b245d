// SPDX-License-Identifier: Apache-2.0
/// Admission: a long message gets memory for the whole of itself before it is read. Sessions whose
/// messages find no room wait in the order in which they asked. Messages up to 1 MiB have a queue
/// and a budget of their own, so that they do not wait behind the largest. One for all reactors.
#pragma once

#include "freshet/sync/memory_pool.h"
#include "freshet/sync/mutex.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <vector>

namespace freshet::transport {

class Admission {
public:
    /// Messages up to here are read at once.
    static constexpr size_t kFreeBytesMax = sync::MemoryHold::kUnitBytes;

    /// `patienceMillis`: when a message has waited this long, peers that hold memory have to move.
    Admission(std::shared_ptr<sync::MemoryPool> pool, uint64_t patienceMillis);
    Admission(const Admission&) = delete;
    Admission& operator=(const Admission&) = delete;

    /// The request for one message, from when its length is known until all of it has come. Belongs
    /// to its session's thread.
    class Ticket {
    public:
        Ticket(Admission& admission, uint64_t bytes);
        ~Ticket();
        Ticket(const Ticket&) = delete;
        Ticket& operator=(const Ticket&) = delete;

        bool isAdmitted() const;
        /// `token` is completed when the message is admitted. False: it already is.
        bool wakeBy(sync::WaitToken token);
        /// REQUIRES: isAdmitted(), and only once. The message's memory.
        sync::MemoryHold takeHold();

    private:
        friend class Admission;
        Admission& admission_;
        const uint64_t bytes_;
        const uint64_t since_;
        bool isAdmitted_ = false;  // guarded by the admission's mutex, as all below
        sync::MemoryHold hold_;
        sync::WaitToken wake_;
    };

    /// Admits the waiting messages for which there is room. Called when memory was released, and
    /// periodically.
    void admit();
    /// A message has waited for long, or three quarters of the pool have been taken for as long.
    bool isPressed();
    uint64_t patienceNanos() const { return patienceNanos_; }
    sync::MemoryPool& pool() { return *pool_; }

private:
    struct Queue {
        uint64_t bytesMax = UINT64_MAX;  // of messages that have been admitted and are not whole
        uint64_t bytes = 0;
        std::list<Ticket*> waiting;
    };
    using Tokens = std::vector<sync::WaitToken>;

    Queue& queueOf(uint64_t bytes);
    void admitLocked(Tokens* woken);
    bool admitFirst(Queue& queue, uint64_t now);
    void leave(Ticket& ticket);
    static void wakeAll(const Tokens& tokens);

    const std::shared_ptr<sync::MemoryPool> pool_;
    const uint64_t patienceNanos_;
    mutable sync::Mutex mutex_;
    std::array<Queue, 2> queues_;  // guarded by mutex_: the middle messages', the large ones'
    uint64_t fullSince_ = 0;       // guarded by mutex_; 0: it is not full
};

}  // namespace freshet::transport
