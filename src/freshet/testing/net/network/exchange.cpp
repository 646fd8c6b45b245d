// SPDX-License-Identifier: Apache-2.0
#include "freshet/testing/net/network/exchange.h"

#include "freshet/testing/net/network/event_fd.h"

#include <mutex>
#include <utility>

namespace freshet::testing {
namespace verbs = transport::verbs;
using verbs::CallEvent;
using Kind = verbs::CallEvent::Kind;

namespace {

/// Adapters deliver the full buffer, padded.
std::string padded(std::string data, size_t bytes) {
    invariant(data.size() <= bytes);
    data.resize(bytes, '\0');
    return data;
}

}  // namespace

/// The state of one end of a line; side 0 is the caller's.
struct Exchange::Side {
    std::deque<CallEvent> events;
    EventFd ready;
    verbs::Address address;  // of its queue pair
    bool isGone = false;     // it has hung up

    void post(CallEvent event) {
        events.push_back(std::move(event));
        ready.signal();
    }
};

struct Exchange::Line {
    std::string request;
    Side sides[2];
};

class Exchange::End final : public verbs::Call {
public:
    End(std::shared_ptr<Exchange> exchange,
        std::shared_ptr<Line> line,
        size_t side,
        std::string local,
        std::string remote)
        : exchange_(std::move(exchange)),
          line_(std::move(line)),
          side_(side),
          local_(std::move(local)),
          remote_(std::move(remote)),
          request_(line_->request) {
        ++exchange_->ends_;
    }
    ~End() override {
        hangUp();
        std::lock_guard lock(exchange_->mutex_);
        --exchange_->ends_;
    }
    const std::string& local() const override { return local_; }
    const std::string& remote() const override { return remote_; }
    const std::string& request() const override { return request_; }
    Status ask(verbs::QueuePair& pair, const std::string& data) override;
    Status accept(verbs::QueuePair& pair, const std::string& data) override {
        std::lock_guard lock(exchange_->mutex_);
        FRESHET_RETURN_IF_ERROR(pair.connect(other().address));
        mine().address = pair.address();
        isAnswered_ = true;
        other().post({Kind::kAnswered, padded(data, verbs::kAnswerBytesMax), "accepted"});
        return Status::ok();
    }
    Status refuse(const std::string& data) override {
        std::lock_guard lock(exchange_->mutex_);
        isAnswered_ = true;
        mine().isGone = true;
        other().post({Kind::kRefused, padded(data, verbs::kAnswerBytesMax), "refused"});
        return Status::ok();
    }
    void hangUp() override {
        std::lock_guard lock(exchange_->mutex_);
        if (std::exchange(mine().isGone, true)) {
            return;
        }
        if (side_ == 1 && !isAnswered_) {
            other().post({Kind::kRefused, {}, "refused"});
        } else {
            other().post({Kind::kEnded, {}, "disconnected"});
        }
    }
    int fd() const override { return line_->sides[side_].ready.fd(); }
    StatusOr<CallEvent> nextEvent() override {
        std::lock_guard lock(exchange_->mutex_);
        if (mine().events.empty()) {
            mine().ready.clear();
            return Status::wouldBlock();
        }
        CallEvent event = std::move(mine().events.front());
        mine().events.pop_front();
        if (event.kind == Kind::kAnswered && pair_ != nullptr) {
            FRESHET_RETURN_IF_ERROR(pair_->connect(other().address));
            other().post({Kind::kAnswered, {}, "established"});
        }
        return event;
    }

private:
    Side& mine() { return line_->sides[side_]; }
    Side& other() { return line_->sides[1 - side_]; }

    const std::shared_ptr<Exchange> exchange_;
    const std::shared_ptr<Line> line_;
    const size_t side_;
    const std::string local_;
    const std::string remote_;
    const std::string request_;
    verbs::QueuePair* pair_ = nullptr;  // the caller's
    bool isAnswered_ = false;           // by us
};

class Exchange::Listener final : public verbs::CallListener {
public:
    Listener(std::shared_ptr<Exchange> exchange, std::string local)
        : exchange_(std::move(exchange)), local_(std::move(local)) {
        exchange_->listeners_[local_] = this;
    }
    ~Listener() override {
        std::lock_guard lock(exchange_->mutex_);
        exchange_->listeners_.erase(local_);
        for (const auto& [line, caller] : waiting_) {
            line->sides[0].post({Kind::kRefused, {}, "nothing listens"});
        }
    }
    const std::string& local() const override { return local_; }
    int fd() const override { return ready_.fd(); }
    StatusOr<std::unique_ptr<verbs::Call>> next() override {
        std::lock_guard lock(exchange_->mutex_);
        if (waiting_.empty()) {
            ready_.clear();
            return Status::wouldBlock();
        }
        auto [line, caller] = std::move(waiting_.front());
        waiting_.pop_front();
        return std::unique_ptr<verbs::Call>(
            std::make_unique<End>(exchange_, std::move(line), 1, local_, std::move(caller)));
    }
    /// REQUIRES: the exchange's lock.
    void ring(std::shared_ptr<Line> line, const std::string& caller) {
        waiting_.emplace_back(std::move(line), caller);
        ready_.signal();
    }

private:
    const std::shared_ptr<Exchange> exchange_;
    const std::string local_;
    std::deque<std::pair<std::shared_ptr<Line>, std::string>> waiting_;  // with the caller's
                                                                         // address
    EventFd ready_;
};

Status Exchange::End::ask(verbs::QueuePair& pair, const std::string& data) {
    std::lock_guard lock(exchange_->mutex_);
    pair_ = &pair;
    mine().address = pair.address();
    line_->request = padded(data, verbs::kRequestBytesMax);
    const auto found = exchange_->listeners_.find(remote_);
    if (exchange_->isLosing_) {
        return Status::ok();
    }
    if (found == exchange_->listeners_.end()) {
        mine().post({Kind::kRefused, {}, "nothing listens"});
        return Status::ok();
    }
    found->second->ring(line_, local_);
    return Status::ok();
}

StatusOr<std::unique_ptr<verbs::CallListener>> Exchange::listen(const std::string& address,
                                                                uint16_t port) {
    const std::string local = address + ":" + std::to_string(port);
    std::lock_guard lock(mutex_);
    if (listeners_.contains(local)) {
        return Status(Code::kUnavailable, "Cannot listen on " + local + " for RDMA: it is taken");
    }
    return std::unique_ptr<verbs::CallListener>(
        std::make_unique<Listener>(shared_from_this(), local));
}

std::unique_ptr<verbs::Call> Exchange::dial(const std::string& host, uint16_t port) {
    std::lock_guard lock(mutex_);
    return std::make_unique<End>(shared_from_this(),
                                 std::make_shared<Line>(),
                                 0,
                                 host + ":" + std::to_string(nextPort_++),
                                 host + ":" + std::to_string(port));
}

void Exchange::setLosingRequests(bool isLosing) {
    std::lock_guard lock(mutex_);
    isLosing_ = isLosing;
}

uint64_t Exchange::calls() const {
    std::lock_guard lock(mutex_);
    return ends_;
}

}  // namespace freshet::testing
