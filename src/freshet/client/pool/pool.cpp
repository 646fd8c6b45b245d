// SPDX-License-Identifier: Apache-2.0
#include "freshet/client/pool.h"

#include "freshet/client/pool/pool_state.h"

#include <chrono>
#include <mutex>

namespace freshet::client {

/// Passes commands on and notes when the connection has become unusable: after any error except
/// that of a command that was too large to be sent.
class Pool::Lease::Watched final : public Connection {
public:
    explicit Watched(std::unique_ptr<Connection> connection) : connection_(std::move(connection)) {}

    StatusOr<bson::OwnedDocument> run(std::string_view database, bson::Document command) override {
        StatusOr<bson::OwnedDocument> reply = connection_->run(database, command);
        isBroken_ = isBroken_ || (!reply.isOk() && reply.status().code() != Code::kLimit);
        return reply;
    }
    bson::Document hello() const override { return connection_->hello(); }
    std::string_view transportKind() const override { return connection_->transportKind(); }

    bool isBroken() const { return isBroken_; }
    std::unique_ptr<Connection> release() { return std::move(connection_); }

private:
    std::unique_ptr<Connection> connection_;
    bool isBroken_ = false;
};

Pool::Lease::Lease(State* pool, std::unique_ptr<Connection> connection)
    : pool_(pool), connection_(std::make_unique<Watched>(std::move(connection))) {}

Pool::Lease::Lease(Lease&&) noexcept = default;

Pool::Lease& Pool::Lease::operator=(Lease&& other) noexcept {
    if (this != &other) {
        giveBack();
        pool_ = other.pool_;
        connection_ = std::move(other.connection_);
    }
    return *this;
}

Pool::Lease::~Lease() {
    giveBack();
}

Connection* Pool::Lease::operator->() const {
    return connection_.get();
}

void Pool::Lease::giveBack() {
    if (connection_ != nullptr) {
        const bool isBroken = connection_->isBroken();
        pool_->giveBack(connection_->release(), isBroken);
        connection_.reset();
    }
}

Pool::State::~State() {
    invariant(open_ == idle_.size() && waiting_ == 0);
}

StatusOr<std::unique_ptr<Connection>> Pool::State::takeIdleOrTurn() {
    std::unique_lock lock(mutex_);
    const auto isThere = [this] { return !idle_.empty() || open_ < options_.connectionsMax; };
    ++waiting_;
    const bool inTime =
        changed_.wait_for(lock, std::chrono::milliseconds(options_.checkOutMillisMax), isThere);
    --waiting_;
    if (!inTime) {
        return Status(Code::kTimeout,
                      "all " + std::to_string(options_.connectionsMax) +
                          " connections of the pool were in use for " +
                          std::to_string(options_.checkOutMillisMax) + " ms");
    }
    if (idle_.empty()) {
        ++open_;
        return std::unique_ptr<Connection>();
    }
    std::unique_ptr<Connection> newest = std::move(idle_.back());
    idle_.pop_back();
    return newest;
}

StatusOr<std::unique_ptr<Connection>> Pool::State::take() {
    FRESHET_ASSIGN_OR_RETURN(std::unique_ptr<Connection> taken, takeIdleOrTurn());
    if (taken != nullptr) {
        return taken;
    }
    StatusOr<std::unique_ptr<Connection>> made = make();
    {
        std::lock_guard lock(mutex_);
        made_ += made.isOk() ? 1 : 0;
        open_ -= made.isOk() ? 0 : 1;
    }
    if (!made.isOk()) {
        changed_.notify_one();
    }
    return made;
}

StatusOr<std::unique_ptr<Connection>> Pool::State::make() {
    FRESHET_ASSIGN_OR_RETURN(const ConnectionString where, target());
    return Connection::open(where, options_.around);
}

StatusOr<ConnectionString> Pool::State::target() {
    std::unique_lock lock(mutex_);
    if (!where_.service.domain.empty()) {
        lock.unlock();
        FRESHET_ASSIGN_OR_RETURN(ConnectionString found, options_.where.lookedUp(options_.around));
        lock.lock();
        if (!where_.service.domain.empty()) {  // else another thread was first
            where_ = std::move(found);
        }
    }
    return where_;
}

void Pool::State::giveBack(std::unique_ptr<Connection> connection, bool isBroken) {
    std::vector<std::unique_ptr<Connection>> dropped;  // closed without the lock
    {
        std::lock_guard lock(mutex_);
        if (isBroken) {
            ++broken_;
            dropped.swap(idle_);
            dropped.push_back(std::move(connection));
            open_ -= dropped.size();
        } else {
            idle_.push_back(std::move(connection));
        }
    }
    if (isBroken) {
        changed_.notify_all();  // there may be room for several
    } else {
        changed_.notify_one();
    }
}

PoolStats Pool::State::stats() const {
    std::lock_guard lock(mutex_);
    return {open_, idle_.size(), waiting_, made_, broken_};
}

Pool::Pool(PoolOptions options) : state_(std::make_unique<State>(std::move(options))) {
    invariant(state_->connectionsMax() > 0);
}

Pool::~Pool() = default;

StatusOr<Pool::Lease> Pool::checkOut() {
    FRESHET_ASSIGN_OR_RETURN(std::unique_ptr<Connection> connection, state_->take());
    return Lease(state_.get(), std::move(connection));
}

PoolStats Pool::stats() const {
    return state_->stats();
}

}  // namespace freshet::client
