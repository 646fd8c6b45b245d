// SPDX-License-Identifier: Apache-2.0
/// Logical sessions: names that clients give to a line of work. A session is known from its first
/// use (or startSession) until it is ended or not used for thirty minutes; cursors that it made end
/// with it. Bounded in number. Any thread: the table is cut into shards, each with a mutex that is
/// a leaf; a connection that goes on with the session it had last does not come here at all.
#pragma once

#include "freshet/bson/builder.h"
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
/// the field that error texts name. kInvalid unless `session` is such a document.
StatusOr<std::string> sessionName(bson::Document session, std::string_view context);

class LogicalSessions {
public:
    /// Notes a use. kLimit (kTooManyLogicalSessions) when there is no room for another one.
    Status use(const std::string& name, int64_t wallMs);
    void end(const std::unordered_set<std::string>& names);
    size_t count() const;
    /// Forgets and returns those that were last used before `wallMs`.
    std::unordered_set<std::string> expire(int64_t beforeWallMs);
    struct Listed {
        std::string name;
        int64_t lastUseWallMs = 0;
    };
    /// At most `most` of them, in no order.
    std::vector<Listed> list(size_t most) const;

private:
    static constexpr size_t kShards = 64;
    struct Shard {
        mutable sync::Mutex mutex;
        std::unordered_map<std::string, int64_t> lastUse;  // guarded by mutex
    };
    Shard& shardOf(const std::string& name);
    std::array<Shard, kShards> shards_;
};

}  // namespace freshet::command
