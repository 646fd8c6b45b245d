// SPDX-License-Identifier: Apache-2.0
/// A pool of connections to one server: threads take one each, and give it back.
///
///   Pool pool({.where = *ConnectionString::parse("mongodb://10.9.0.1/shop?rdma=true")});
///   {
///       FRESHET_ASSIGN_OR_RETURN(Pool::Lease lease, pool.checkOut());
///       FRESHET_ASSIGN_OR_RETURN(auto reply, lease->runChecked("shop", command));
///   }  // back in the pool, unless it broke
#pragma once

#include "freshet/client/client.h"

#include <cstddef>
#include <cstdint>
#include <memory>

namespace freshet::client {

struct PoolOptions {
    ConnectionString where;
    Surroundings around;  // its notice may be called by any thread that checks out
    size_t connectionsMax = 100;
    /// So long checkOut() waits for a connection that others have; 0: not at all. Connecting has
    /// its own bound, connectTimeoutMs.
    uint32_t checkOutMillisMax = 30'000;
};

struct PoolStats {
    size_t open = 0;     // those being made included
    size_t idle = 0;     // of these, with nobody
    size_t waiting = 0;  // threads in checkOut() that found none
    uint64_t made = 0;
    uint64_t broken = 0;  // dropped because an exchange failed
};

/// Any thread. Outlives its leases. A connection is open when somebody needed it, and stays until
/// it breaks; when one does, the idle ones go with it, since what ended one has ended most. A
/// command that fails is not repeated: only the caller knows whether it may be.
class Pool {
public:
    class State;

    /// A connection that nobody else has. One thread at a time; may be moved to another.
    class Lease {
    public:
        Lease(Lease&&) noexcept;
        Lease& operator=(Lease&&) noexcept;
        /// Gives the connection back.
        ~Lease();
        Connection* operator->() const;
        Connection& operator*() const { return *operator->(); }

    private:
        friend class Pool;
        class Watched;
        Lease(State* pool, std::unique_ptr<Connection> connection);
        void giveBack();

        State* pool_;
        std::unique_ptr<Watched> connection_;
    };

    explicit Pool(PoolOptions options);
    Pool(const Pool&) = delete;
    Pool& operator=(const Pool&) = delete;
    /// REQUIRES: no lease is out, no thread is in checkOut().
    ~Pool();

    /// An idle connection, or a new one while there are fewer than connectionsMax, or the next that
    /// comes back, in no promised order of those that wait. kTimeout when none did in time; what
    /// Connection::open() says when a new one cannot be made.
    StatusOr<Lease> checkOut();
    PoolStats stats() const;

private:
    std::unique_ptr<State> state_;
};

}  // namespace freshet::client
