// SPDX-License-Identifier: Apache-2.0
/// LogEvents: the events of the log in its order, one at a time, from a place in it. Only what is
/// durable is seen. A transaction that is a chain of records is given as a whole where its last
/// record lies, by a second reading from its first one, so that memory does not grow with it.
///
///     FRESHET_ASSIGN_OR_RETURN(auto events, LogEvents::open(journal, {.lsn = token.lsn}));
///     const CommittedEvent* event = nullptr;
///     Status status = events->next(&event);   // WouldBlock: wait for events->token()
///
/// Thread rule: one thread at a time, between two calls any other.
#pragma once

#include "freshet/command/stream/committed_event.h"
#include "freshet/journal/reader.h"

#include <memory>
#include <set>

namespace freshet::command {

class LogEvents {
public:
    /// Commits whose last record is at `from.lsn` or above, or has this time or a later one;
    /// `from.types` does not count. kNotFound: the log no longer reaches back so far; perhaps only
    /// next() says so. The journal must outlive this.
    static StatusOr<std::unique_ptr<LogEvents>> open(journal::Journal& journal,
                                                     const journal::ReadFrom& from);
    ~LogEvents();

    /// The next event, kTransaction included, which ends the commit of a transaction of several
    /// statements. It is valid until the next call. WouldBlock: wait for token() and call again.
    /// kNotFound: history lost, its place was recycled before it was read. Any other error is final
    /// as well.
    Status next(const CommittedEvent** event);
    const sync::WaitToken& token() const { return token_; }
    /// After WouldBlock: everything durable has been given. False: there may be more at once.
    bool isDry() const { return isDry_; }

    /// REQUIRES: not isInCommit(). All events of commits below have been given; where to open the
    /// next one. 0 as long as the place of a time has not been found.
    journal::Lsn position() const { return reader_->position(); }
    /// Some events of a commit may have been given, and others not.
    bool isInCommit() const { return commit_ != nullptr; }
    /// Of the last record that was looked at, or that skipTo() named; 0: none yet.
    uint64_t timestamp() const { return timestamp_; }
    /// A transaction of several records has begun below position() and ends above.
    bool isInChain() const { return !openChains_.empty(); }
    /// Goes on at `position` if that is further. REQUIRES: neither isInCommit() nor isInChain().
    /// kNotFound: history lost.
    Status skipTo(journal::Lsn position, uint64_t timestamp);

private:
    /// A commit whose events are being given.
    struct Commit;

    LogEvents(journal::Journal& journal, std::unique_ptr<journal::Reader> reader);
    Status wait(const sync::WaitToken& token, bool isDry);
    Status nextRecord();
    Status openCommit(const journal::RecordView& record);
    void movePin();
    Status nextInCommit(bool* isOver);
    Status nextOfChain(bool* isOver);
    Status fill(ByteView bytes);
    Status findAfter();

    journal::Journal& journal_;
    std::unique_ptr<journal::Reader> reader_;
    journal::Pin pin_;                   // at what is still needed
    std::set<journal::Lsn> openChains_;  // first records of chains whose last one has not come
    std::unique_ptr<Commit> commit_;     // null: none
    CommittedEvent current_;
    uint64_t timestamp_ = 0;
    sync::WaitToken token_ = sync::WaitToken::completed();
    bool isDry_ = false;
    int sinceTurn_ = 0;  // records looked at since others could run
};

}  // namespace freshet::command
