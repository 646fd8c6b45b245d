// SPDX-License-Identifier: Apache-2.0
/// A pool of connections to one server: each thread takes one and gives it back.
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
    Surroundings around;  // its notice may be called on any thread that checks out
    size_t connectionsMax = 100;
    /// How long checkOut() waits for a connection that is in use; 0: it does not wait. Connecting
    /// has its own limit, connectTimeoutMs.
    uint32_t checkOutMillisMax = 30'000;
};

struct PoolStats {
    size_t open = 0;     // including those being made
    size_t idle = 0;     // of these, not in use
    size_t waiting = 0;  // threads in checkOut() that found none
    uint64_t made = 0;
    uint64_t broken = 0;  // dropped because an exchange failed
};

/// Any thread. Outlives its leases. Connections are opened on demand, and stay open until they
/// break; when one breaks, the idle ones are dropped too, since the cause has probably ended them
/// as well. A failed command is not repeated: only the caller knows whether it may be.
class Pool {
public:
    class State;

    /// A connection for exclusive use. One thread at a time; may be moved to another.
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
    /// is given back, to waiting threads in any order. kTimeout when there was none in time; the
    /// error of Connection::open() when a new one cannot be made.
    StatusOr<Lease> checkOut();
    PoolStats stats() const;

private:
    std::unique_ptr<State> state_;
};

}  // namespace freshet::client
