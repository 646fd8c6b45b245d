// SPDX-License-Identifier: Apache-2.0
/// What the threads of a pool share: idle connections and counts, under one lock that is never held
/// while waiting for the network.
#pragma once

#include "freshet/client/pool.h"
#include "freshet/sync/mutex.h"

#include <condition_variable>
#include <vector>

namespace freshet::client {

class Pool::State {
public:
    explicit State(PoolOptions options) : options_(std::move(options)), where_(options_.where) {}
    ~State();

    StatusOr<std::unique_ptr<Connection>> take();
    void giveBack(std::unique_ptr<Connection> connection, bool isBroken);
    PoolStats stats() const;
    size_t connectionsMax() const { return options_.connectionsMax; }

private:
    /// An idle connection, or null: the caller may make one. kTimeout.
    StatusOr<std::unique_ptr<Connection>> takeIdleOrTurn();
    /// A new connection, to the same host as the first one.
    StatusOr<std::unique_ptr<Connection>> make();
    StatusOr<ConnectionString> target();

    const PoolOptions options_;
    mutable sync::Mutex mutex_;
    ConnectionString where_;                         // guarded by mutex_; looked up once
    std::condition_variable_any changed_;            // a connection became idle, or one may be made
    std::vector<std::unique_ptr<Connection>> idle_;  // guarded by mutex_, as all below
    size_t open_ = 0;
    size_t waiting_ = 0;
    uint64_t made_ = 0;
    uint64_t broken_ = 0;
};

}  // namespace freshet::client
