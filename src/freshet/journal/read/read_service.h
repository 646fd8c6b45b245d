// SPDX-License-Identifier: Apache-2.0
/// ReadService: what all readers of one journal share. Its thread, `journal-read`, finds positions
/// and reads blocks from the segments (read/log_walk.h), one short step for each request in turn.
/// Near the tail the blocks come from the writer, through TailFeed, and the newest durable ones
/// stay in memory for a while; so each is made once, for any number of readers.
///
/// Waking: readers at the end of the log wait here, and the thread waits for them in the journal's
/// wait list of durability, with one token for all. A flush therefore costs its thread one wake-up
/// at most, whatever the number of readers.
#pragma once

#include "freshet/base/status.h"
#include "freshet/journal/file/impl.h"
#include "freshet/journal/read/log_walk.h"
#include "freshet/sync/mutex.h"
#include "freshet/sync/wait_token.h"

#include <deque>
#include <memory>
#include <vector>

namespace freshet::journal {

/// Memory for blocks near the tail, in laps of the ring.
inline constexpr uint64_t kReadLaps = 4;

/// Work for the thread. A reader fills it in, posts it, and takes it back when it is done; the
/// thread owns it meanwhile.
struct ReadRequest {
    ReadStep step;
    Status status;
    sync::WaitToken token = sync::WaitToken::create();
    bool isDone = false;  // guarded by the service's mutex
};

class ReadService {
public:
    explicit ReadService(Journal::Impl& journal);
    /// REQUIRES: stop(), or no reader ever.
    ~ReadService() = default;

    /// A reader exists from attach() to detach(), which ends its waiting. `reader` only identifies
    /// it.
    void attach();
    void detach(const void* reader);
    /// From memory, if it is there and durable: the block after slot `slotNo`; the block in which
    /// reading from `lsn` begins. Else null.
    LogBlockRef blockAfter(uint64_t slotNo);
    LogBlockRef blockAt(Lsn lsn);
    void post(std::shared_ptr<ReadRequest> request);
    bool isDone(const ReadRequest& request);
    /// Complete when more than `end` is durable, or the journal has ended. One call per reader
    /// until then.
    sync::WaitToken awaitDurable(Lsn end, const void* reader);
    /// Ends the thread; all tokens are complete then. REQUIRES: the journal is closed.
    void stop();

private:
    struct Waiting {
        Lsn end;
        const void* reader;
        sync::WaitToken token;
    };
    struct Wake : sync::Waiter {
        WakeEvent* event = nullptr;
    };

    void run();
    void refresh();
    void takeFromFeed(Lsn durable);
    void keep(LogBlockRef block);
    void listen(Lsn durable);
    std::vector<sync::WaitToken> takeReached(Lsn durable);
    /// True: there may be more to do at once.
    bool serveOne();
    bool serveFromMemory(ReadStep& step);
    bool isEnding() const { return !journal_.health().isOk(); }
    bool isListening() const { return listening_.isSet() && !listening_.isDone(); }

    Journal::Impl& journal_;
    const uint64_t tailBytesMax_;
    WakeEvent wake_;
    Wake waiter_;  // wakes the thread
    sync::Atomic<bool> stopping_{false};

    // The thread's own:
    LogWalk walk_;
    std::deque<LogBlockRef> written_;  // from the feed, not yet durable
    uint64_t writtenBytes_ = 0;

    mutable sync::Mutex mutex_;  // a leaf, never held during I/O
    // Guarded by mutex_:
    size_t readers_ = 0;
    bool isStopped_ = false;
    std::deque<std::shared_ptr<ReadRequest>> requests_;
    std::vector<Waiting> waiting_;
    sync::WaitToken listening_;     // in the wait list of durability; set while any reader waits
    std::deque<LogBlockRef> tail_;  // durable, each following the one before
    uint64_t tailBytes_ = 0;

    platform::Thread thread_;  // last; started under mutex_
};

}  // namespace freshet::journal
