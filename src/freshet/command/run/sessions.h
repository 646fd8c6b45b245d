// SPDX-License-Identifier: Apache-2.0
/// Logical sessions: names that clients give to related operations. A session is known from its
/// first use (or startSession) until it is ended or unused for thirty minutes; the cursors created
/// in it end with it. Bounded in number: at the bound the oldest sessions of the user with the most
/// are forgotten (see FairShares), which is harmless: the next use makes a session known again. Any
/// thread: the table is divided into shards, each with a mutex that is a leaf; a connection that
/// keeps using the session it used last does not come here at all.
#pragma once

#include "freshet/bson/builder.h"
#include "freshet/command/run/fair_shares.h"
#include "freshet/sync/mutex.h"

#include <array>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace freshet::command {

inline constexpr size_t kLogicalSessionsMax = 1'000'000;

/// A session's canonical name: the bytes of {id: UUID} or {id: UUID, uid: BinData}. `context` is
/// the field named in error texts. kInvalid unless `session` is such a document.
StatusOr<std::string> sessionName(bson::Document session, std::string_view context);

class LogicalSessions {
public:
    explicit LogicalSessions(size_t sessionsMax = kLogicalSessionsMax)
        : shardMax_(sessionsMax / kShards) {}
    /// How many sessions are allowed when requests may hold so many bytes together; 0: no bound.
    static size_t maxFor(uint64_t requestBytes);

    /// Notes a use. `holder`: whose share it counts in, see holderOf().
    void use(const std::string& name, const std::string& holder, int64_t wallMs);
    void end(const std::unordered_set<std::string>& names);
    size_t count() const;
    /// Forgets and returns the sessions that were last used before `wallMs`.
    std::unordered_set<std::string> expire(int64_t beforeWallMs);
    struct Listed {
        std::string name;
        int64_t lastUseWallMs = 0;
    };
    /// At most `most` of them, in any order.
    std::vector<Listed> list(size_t most) const;

private:
    static constexpr size_t kShards = 64;
    using Shares = FairShares<const std::string*>;  // names, in the order of their use
    struct Entry {
        int64_t lastUseWallMs = 0;
        Shares::Handle share{};
    };
    using Entries = std::unordered_map<std::string, Entry>;
    struct Shard {
        mutable sync::Mutex mutex;
        Entries entries;  // guarded by mutex
        Shares shares;    // guarded by mutex

        // REQUIRES: mutex is held.
        Entries::iterator erase(Entries::iterator entry);
    };
    Shard& shardOf(const std::string& name);

    const size_t shardMax_;
    std::array<Shard, kShards> shards_;
};

}  // namespace freshet::command
