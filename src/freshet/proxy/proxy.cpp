// SPDX-License-Identifier: Apache-2.0
/// One thread of the proxy creates and destroys pairs; the acceptor's thread only passes
/// connections on.
#include "freshet/proxy/proxy.h"

#include "freshet/proxy/pair/pair.h"
#include "freshet/sync/mutex.h"
#include "freshet/telemetry/log.h"
#include "freshet/transport/acceptor.h"
#include "freshet/transport/connector.h"

#include <condition_variable>
#include <list>
#include <mutex>
#include <utility>

namespace freshet::proxy {
namespace {

using transport::Session;

class PairProxy final : public Proxy {
public:
    explicit PairProxy(const ProxyOptions& options) : options_(options) {}
    ~PairProxy() override;

    Status open();
    std::vector<std::string> addresses() const override { return acceptor_->addresses(); }
    uint16_t port() const override { return acceptor_->port(); }
    ProxyStats stats() const override;

private:
    void onDriver(std::unique_ptr<Session> driver);
    void managePairs();
    /// A connection to the server, over RDMA if possible. Any thread.
    StatusOr<std::unique_ptr<Session>> dial();
    /// Logs a line when the outcome differs from the previous one: drivers connect again and again.
    void sayHowItGoes(const std::string& text);
    Status refuse(const std::string& why);

    const ProxyOptions options_;
    mutable sync::Mutex mutex_;
    std::condition_variable_any changed_;
    // Guarded by mutex_:
    std::vector<std::unique_ptr<Session>> arrived_;
    bool hasOver_ = false;  // some pair is over
    bool isEnding_ = false;
    ProxyStats stats_;
    std::string lastSaid_;

    std::list<Pair> pairs_;  // used by the manager's thread only
    platform::Thread manager_;
    std::unique_ptr<transport::Acceptor> acceptor_;  // calls onDriver() until it is destroyed
};

Status PairProxy::open() {
    transport::ServerTransportOptions options;
    options.bindAddresses = {options_.listenHost};
    options.port = options_.listenPort;
    FRESHET_ASSIGN_OR_RETURN(acceptor_, transport::Acceptor::start(options, [this](auto driver) {
                                 onDriver(std::move(driver));
                             }));
    // Not on the acceptor's thread: the threads that it creates would share its core.
    manager_ = platform::Thread("proxy", [this] { managePairs(); });
    return Status::ok();
}

PairProxy::~PairProxy() {
    acceptor_.reset();
    {
        std::lock_guard lock(mutex_);
        isEnding_ = true;
    }
    changed_.notify_all();
    if (manager_.joinable()) {
        manager_.join();
    }
}

ProxyStats PairProxy::stats() const {
    std::lock_guard lock(mutex_);
    return stats_;
}

void PairProxy::onDriver(std::unique_ptr<Session> driver) {
    {
        std::lock_guard lock(mutex_);
        if (stats_.current < options_.connectionsMax) {
            ++stats_.current;
            arrived_.push_back(std::move(driver));
            changed_.notify_all();
            return;
        }
    }
    (void)refuse("there are " + std::to_string(options_.connectionsMax) + " already");
}

void PairProxy::managePairs() {
    const auto onOver = [this] {
        {
            std::lock_guard lock(mutex_);
            hasOver_ = true;
        }
        changed_.notify_all();
    };
    std::unique_lock lock(mutex_);
    while (!isEnding_) {
        changed_.wait(lock, [this] { return isEnding_ || hasOver_ || !arrived_.empty(); });
        hasOver_ = false;
        std::vector<std::unique_ptr<Session>> arrived = std::exchange(arrived_, {});
        lock.unlock();
        for (auto& driver : arrived) {
            pairs_.emplace_back(
                std::move(driver), [this] { return dial(); }, onOver);
        }
        const size_t over = std::erase_if(pairs_, [](const Pair& pair) { return pair.isOver(); });
        lock.lock();
        stats_.current -= over;
    }
    lock.unlock();
    for (Pair& pair : pairs_) {
        pair.end();
    }
    pairs_.clear();
}

void PairProxy::sayHowItGoes(const std::string& text) {
    std::lock_guard lock(mutex_);
    if (std::exchange(lastSaid_, text) != text) {
        telemetry::logInfo("proxy", text);
    }
}

Status PairProxy::refuse(const std::string& why) {
    sayHowItGoes("Refused a connection: " + why);
    std::lock_guard lock(mutex_);
    ++stats_.refused;
    return Status(Code::kUnavailable, why);
}

StatusOr<std::unique_ptr<Session>> PairProxy::dial() {
    std::string whyTcp;
    transport::ConnectOptions options;
    options.host = options_.serverHost;
    options.port = options_.serverPort;
    options.timeoutMs = options_.connectMillis;
    options.rdma.verbs = options_.verbs;
    options.rdma.probeMillisMax = options_.probeMillisMax;
    options.onFallback = [&whyTcp](const std::string& text) { whyTcp = text; };
    StatusOr<std::unique_ptr<Session>> server = transport::connect(options);
    if (!server.isOk()) {
        return refuse(server.status().toString());
    }
    const bool isRdma = (*server)->peer().kind == "rdma";
    if (!isRdma && options_.requireRdma) {
        return refuse(whyTcp);
    }
    const std::string remote = (*server)->peer().remote;
    sayHowItGoes(isRdma           ? "Connections to " + remote + " go over RDMA"
                 : whyTcp.empty() ? "Connections to " + remote + " go over TCP"
                                  : whyTcp);
    std::lock_guard lock(mutex_);
    ++(isRdma ? stats_.overRdma : stats_.overTcp);
    return server;
}

}  // namespace

StatusOr<std::unique_ptr<Proxy>> Proxy::start(const ProxyOptions& options) {
    auto proxy = std::make_unique<PairProxy>(options);
    FRESHET_RETURN_IF_ERROR(proxy->open());
    return std::unique_ptr<Proxy>(std::move(proxy));
}

}  // namespace freshet::proxy
