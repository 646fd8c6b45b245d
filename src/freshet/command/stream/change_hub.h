// SPDX-License-Identifier: Apache-2.0
/// ChangeHub: one reading of the log for all change streams that wait. A stream that has read
/// everything names its place in the log and what it watches; the hub's thread reads on, and wakes
/// it at the first commit with an event that it shows. Where it then continues, nothing in between
/// is read again: a commit costs one decoding and a look into a table, however many streams wait.
/// Streams of one place whose first $match says which value a field has are told apart by it, see
/// EventKey; other conditions a stream that was woken tests for itself.
///
/// A few streams need no hub: they have a *seat*, wait for the log themselves and hear of an event
/// one thread earlier.
///
/// Thread rule: any thread. The thread starts with the first listener.
#pragma once

#include "freshet/command/stream/log_events.h"
#include "freshet/command/stream/watched_place.h"
#include "freshet/platform/thread.h"

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace freshet::command {

class ChangeHub {
public:
    /// A place in the log: all events of commits below `position` are done with.
    struct Place {
        journal::Lsn position = 0;
        uint64_t timestamp = 0;  // of a record below, or of the one there
    };

    /// A stream that waits. The hub must outlive it.
    class Listener {
    public:
        ~Listener();
        Listener(const Listener&) = delete;
        Listener& operator=(const Listener&) = delete;
        /// Completes when there may be an event for the stream, or the hub has failed.
        const sync::WaitToken& token() const { return token_; }
        /// Nothing in front of it is for the stream.
        Place clean() const;

    private:
        friend class ChangeHub;
        Listener(ChangeHub& hub, const Watch& watch, Place from)
            : hub_(hub), watch_(watch), from_(from) {}

        ChangeHub& hub_;
        const Watch& watch_;
        const Place from_;
        const sync::WaitToken token_ = sync::WaitToken::create();
        // Guarded by the hub's mutex:
        bool isWaiting_ = true;
        Place found_;  // if not
    };

    /// The right to wait without the hub.
    class Seat {
    public:
        explicit Seat(ChangeHub& hub) : hub_(hub) {}
        ~Seat();
        Seat(const Seat&) = delete;
        Seat& operator=(const Seat&) = delete;

    private:
        ChangeHub& hub_;
    };

    /// The journal must outlive the hub. `seats`: how many streams may wait by themselves.
    explicit ChangeHub(journal::Journal& journal, int seats = kSeats);
    ~ChangeHub();
    ChangeHub(const ChangeHub&) = delete;
    ChangeHub& operator=(const ChangeHub&) = delete;

    /// Null: all are taken.
    std::unique_ptr<Seat> takeSeat();
    /// `watch` must outlive the listener. Null: the hub has read further than `from`; read on, and
    /// call it again.
    std::unique_ptr<Listener> listen(const Watch& watch, Place from);

private:
    static constexpr int kSeats = 4;
    using Listeners = std::unordered_set<Listener*>;
    /// Those of one place.
    struct Group {
        Listeners withoutKey;
        std::map<std::string, std::unordered_map<std::string, Listeners>> withKey;  // path, value

        bool isEmpty() const { return withoutKey.empty() && withKey.empty(); }
        void add(Listener* listener);
        void remove(Listener* listener);
        Listener* any() const;
    };

    void run();
    bool openEvents();
    void step();
    void await();
    void show(const CommittedEvent& committed);
    void wakeAt(std::string_view db, std::string_view collection, const CommittedEvent& committed);
    static void collect(const Listeners& from,
                        const CommittedEvent& committed,
                        bool onlyLookups,
                        std::vector<Listener*>* found);
    void wake(Listener* listener, Place found);
    void fail();
    Place placeOfEvents() const { return {events_->position(), events_->timestamp()}; }

    journal::Journal& journal_;
    std::unique_ptr<LogEvents> events_;  // of the thread
    std::string key_;                    // of the thread

    mutable std::mutex mutex_;
    std::condition_variable changed_;
    // Guarded by mutex_:
    std::unordered_map<std::string, Group> groups_;  // by place
    size_t waiting_ = 0;                             // in all
    Place clean_;                                    // all events of commits below have been shown
    journal::Lsn begun_ = 0;  // the same, but of the last of them perhaps not all
    journal::Lsn first_ = 0;  // no listener needs one below
    sync::WaitToken awaited_ = sync::WaitToken::completed();
    int seatsLeft_;
    bool hasFailed_ = false;
    bool isStopping_ = false;
    platform::Thread thread_;
};

}  // namespace freshet::command
