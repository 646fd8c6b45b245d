// SPDX-License-Identifier: Apache-2.0
/// MemberState: what can change about a replica set's only member: its configuration, and its role.
/// It is primary, unless a client has told it to step down; then it is a secondary until a time.
/// Drivers learn of each change from the counter in topologyVersion.
///
/// Any thread. The mutex is a leaf.
#pragma once

#include "freshet/bson/builder.h"
#include "freshet/sync/atomic.h"
#include "freshet/sync/mutex.h"
#include "freshet/sync/wait_token.h"

#include <cstdint>
#include <map>
#include <memory>

namespace freshet::command {

class MemberState {
public:
    using Config = std::shared_ptr<const bson::OwnedDocument>;

    /// As replSetGetConfig shows it, but with the host as it was given. Null: no client has
    /// initiated the set yet.
    Config config() const;
    void setConfig(bson::OwnedDocument config);

    /// True for a standalone.
    bool isPrimary() const;
    /// Makes it a secondary for that long. False when it is one already.
    bool stepDown(uint64_t nanos);
    /// A secondary stays one for at least that long from now on; 0: it becomes primary at once.
    /// False when it is primary.
    bool freeze(uint64_t nanos);
    /// When it becomes primary by itself, on platform::monotonicNanos(); UINT64_MAX: it is.
    uint64_t primaryFromNanos() const;

    /// How often configuration or role have changed.
    int64_t changes() const;
    /// Completes `token` at the next change that a client makes. 0: there have been more than
    /// `seen` changes already. Else to be followed by unwatch().
    uint64_t watch(int64_t seen, const sync::WaitToken& token);
    void unwatch(uint64_t id);

private:
    void settle() const;                  // REQUIRES: mutex_
    void setUntil(uint64_t nanos) const;  // REQUIRES: mutex_
    void changed();                       // REQUIRES: mutex_

    /// Until when it is a secondary; 0: it is primary. Written by: setUntil(), under mutex_. Read
    /// by: all commands, at their start.
    ///   STEPS    any
    mutable sync::Atomic<uint64_t> untilNanos_{0};
    mutable sync::Mutex mutex_;
    Config config_;                                 // guarded by mutex_
    mutable int64_t changes_ = 0;                   // guarded by mutex_
    uint64_t lastWatch_ = 0;                        // guarded by mutex_
    std::map<uint64_t, sync::WaitToken> watching_;  // guarded by mutex_
};

}  // namespace freshet::command
