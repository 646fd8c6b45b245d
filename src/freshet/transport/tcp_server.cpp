// SPDX-License-Identifier: Apache-2.0
/// The server over TCP: reactors, one listener, and the assignment of sessions to reactors.
#include "freshet/sync/mutex.h"
#include "freshet/telemetry/log.h"
#include "freshet/transport/rdma/bootstrap.h"
#include "freshet/transport/rdma/call_acceptor.h"
#include "freshet/transport/rdma/server_session.h"
#include "freshet/transport/server_transport.h"
#include "freshet/transport/service_state_machine.h"
#include "freshet/transport/tcp/listener.h"
#include "freshet/transport/tcp/reactor.h"
#include "freshet/transport/tcp/run_on.h"
#include "freshet/transport/tcp/tcp_session.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <set>

namespace freshet::transport {
namespace {

/// A reactor and its live sessions. Everything but `load` and `times` belongs to the reactor's
/// thread.
struct ReactorWorker {
    /// How often to look for handlers that run for long, while messages come.
    static constexpr uint64_t kLookMillis = 500;

    class Member;

    /// Ends when no handler is left to watch, so that an idle reactor sleeps. Walks only the
    /// sessions that got a message since they were last found waiting for one.
    sync::Task<void> lookAfterHandlers();

    std::unique_ptr<Reactor> reactor;
    std::unique_ptr<rdma::Hub> hub;  // null: there is no RDMA
    std::set<ServiceStateMachine*> machines;
    std::vector<Member*> busy;
    TlsPolicy policy;
    StateTimes times;
    bool isLooking = false;
    bool ending = false;
    /// Sessions given to this reactor and not ended. Written by: the accepting thread (+1), the
    /// reactor's own (-1).
    sync::Atomic<uint32_t> load{0};
};

/// A session's membership in its reactor's set, for as long as it runs.
class ReactorWorker::Member final : public BusyListener {
public:
    Member(ReactorWorker& worker, std::unique_ptr<Session> session, MessageHandlerFactory& handlers)
        : worker_(worker), machine_(std::move(session), handlers, this, &worker.times) {
        worker_.machines.insert(&machine_);
    }
    Member(const Member&) = delete;
    Member& operator=(const Member&) = delete;
    ~Member() {
        worker_.machines.erase(&machine_);
        if (isBusy_) {
            std::erase(worker_.busy, this);
        }
    }

    ServiceStateMachine& machine() { return machine_; }

    void onSessionBusy() override {
        if (!std::exchange(isBusy_, true)) {
            worker_.busy.push_back(this);
            if (!std::exchange(worker_.isLooking, true)) {
                sync::spawn(*worker_.reactor, worker_.lookAfterHandlers());
            }
        }
    }
    /// Whether it must be looked at again: its handler runs and is not watched yet, or it sends a
    /// reply after which an exhaust handler may continue without a new message.
    bool look() {
        isBusy_ = machine_.watchLongHandler() || machine_.state().current() == State::kSinkWait;
        return isBusy_;
    }

private:
    ReactorWorker& worker_;
    ServiceStateMachine machine_;
    bool isBusy_ = false;  // it is in worker_.busy
};

sync::Task<void> ReactorWorker::lookAfterHandlers() {
    while (!busy.empty() && !ending) {
        co_await sync::wait(reactor->after(kLookMillis));
        std::erase_if(busy, [](Member* member) { return !member->look(); });
    }
    isLooking = false;
}

/// One line for each session that ended with an error. An operator should see what a peer did
/// wrong; a lost connection is logged at debug level only.
void tellEnd(const PeerInfo& peer, const Status& why) {
    telemetry::log(
        why.code() == Code::kIo ? telemetry::Severity::kDebug : telemetry::Severity::kInfo,
        "transport",
        "Closing connection " + std::to_string(peer.connectionId) + " from " + peer.remote + ": " +
            why.toString());
}

class TcpServer final : public ServerTransport {
public:
    TcpServer(const ServerTransportOptions& options,
              std::shared_ptr<MessageHandlerFactory> handlers)
        : connectionsMax_(options.connectionsMax),
          shutdownMillisMax_(options.shutdownMillisMax),
          shutdownOverdue_(options.shutdownOverdue),
          handlers_(std::move(handlers)) {}
    ~TcpServer() override { shutdown(); }

    Status open(const ServerTransportOptions& options);
    void shutdown() override;
    void replaceTls(std::shared_ptr<const security::TlsContext> tls) override;
    std::vector<std::string> addresses() const override { return addresses_; }
    uint16_t port() const override { return port_; }
    ServerTransportStats stats() const override;
    std::vector<sync::Executor*> executors() override;

private:
    /// An incoming connection: either a socket or a call.
    struct Arrival {
        int socket = -1;
        std::unique_ptr<verbs::Call> call;
    };
    Status openCalls(const ServerTransportOptions& options);
    void onArrival(Arrival arrival);
    bool admit();
    void refuse(const Arrival& arrival);
    ReactorWorker& leastLoaded();
    sync::Task<void> serve(ReactorWorker* worker, Arrival arrival);
    sync::Task<void> serveSession(ReactorWorker* worker, Arrival arrival);
    static StatusOr<std::unique_ptr<Session>> makeSession(ReactorWorker& worker, Arrival arrival);
    void sessionEnded();
    void awaitSessions();

    const uint32_t connectionsMax_;
    const uint32_t shutdownMillisMax_;
    const std::function<void(uint64_t)> shutdownOverdue_;
    const std::shared_ptr<MessageHandlerFactory> handlers_;
    std::unique_ptr<Admission> admission_;  // null: memory is not counted
    std::vector<std::unique_ptr<ReactorWorker>> workers_;
    std::unique_ptr<Listener> listener_;
    std::unique_ptr<rdma::CallAcceptor> calls_;  // null: there is none
    std::vector<std::string> addresses_;
    uint16_t port_ = 0;
    size_t nextWorker_ = 0;  // the accepting reactor's, as the two below
    uint64_t refusalLoggedNanos_ = 0;
    uint64_t refusalsUnlogged_ = 0;  // since then

    mutable sync::Mutex mutex_;
    uint64_t current_ = 0;  // guarded by mutex_, as all below
    uint64_t totalCreated_ = 0;
    uint64_t rejected_ = 0;
    bool shutdown_ = false;
    std::condition_variable_any ended_;
};

Status TcpServer::open(const ServerTransportOptions& options) {
    if (options.tlsMode != TlsMode::kDisabled && options.tls == nullptr) {
        return badValue("TLS is asked for, and there is no certificate");
    }
    if (options.memory != nullptr) {
        admission_ = std::make_unique<Admission>(options.memory, options.memoryPatienceMillis);
    }
    const unsigned count = options.reactors != 0 ? options.reactors : platform::coreCount();
    for (unsigned i = 0; i < count; ++i) {
        auto worker = std::make_unique<ReactorWorker>();
        FRESHET_ASSIGN_OR_RETURN(worker->reactor,
                                 Reactor::create(i,
                                                 {options.passBegin,
                                                  options.readAhead,
                                                  options.passEnd,
                                                  options.threadBegin,
                                                  options.threadEnd,
                                                  options.longPass}));
        worker->reactor->blocks().limitedBytesMax = options.limitedBytesMax / count;
        if (admission_ != nullptr) {
            worker->reactor->blocks().freeBytesMax = Admission::kFreeBytesMax;
            worker->reactor->memory().use(admission_.get(), count);
        }
        worker->policy = {options.tlsMode,
                          options.tls,
                          options.tlsHandshakeMillisMax,
                          std::max(1u, options.tlsHandshakesMax / count)};
        if (options.rdma.verbs != nullptr) {
            worker->hub = std::make_unique<rdma::Hub>(
                *worker->reactor, options.rdma.verbs, rdma::hubOptions(options.rdma, count));
        }
        workers_.push_back(std::move(worker));
    }
    FRESHET_ASSIGN_OR_RETURN(
        listener_, Listener::open(*workers_.front()->reactor, options, [this](int socket) {
            onArrival({socket, nullptr});
        }));
    port_ = listener_->port();
    addresses_ = listener_->addresses();
    if (Status opened = openCalls(options); !opened.isOk()) {
        listener_.reset();  // nothing runs yet that shutdown() could stop
        return opened;
    }
    for (auto& worker : workers_) {
        worker->reactor->start();
    }
    runOn(*workers_.front()->reactor, [this] {
        listener_->start();
        if (calls_ != nullptr) {
            calls_->start();
        }
    });
    return Status::ok();
}

/// Listens for calls on every TCP address that RDMA reaches.
Status TcpServer::openCalls(const ServerTransportOptions& options) {
    if (options.rdma.verbs == nullptr || options.rdma.callPort == 0) {
        return Status::ok();
    }
    if (options.tlsMode == TlsMode::kRequire) {
        return badValue("TLS is required, and calls over RDMA are not encrypted");
    }
    std::vector<std::string> addresses;
    for (const std::string& address : addresses_) {
        if (!address.starts_with('/')) {
            addresses.push_back(rdma::hostOf(address));
        }
    }
    FRESHET_ASSIGN_OR_RETURN(calls_,
                             rdma::CallAcceptor::open(*workers_.front()->hub,
                                                      *options.rdma.verbs,
                                                      addresses,
                                                      options.rdma.callPort,
                                                      [this](std::unique_ptr<verbs::Call> call) {
                                                          onArrival({-1, std::move(call)});
                                                      }));
    for (const std::string& address : calls_->addresses()) {
        addresses_.push_back(address);
    }
    return Status::ok();
}

bool TcpServer::admit() {
    std::lock_guard<sync::Mutex> lock(mutex_);
    if (current_ >= connectionsMax_) {
        ++rejected_;
        return false;
    }
    ++current_;
    ++totalCreated_;
    return true;
}

/// Clients that try again and again must not fill the log, so it gets one line a second.
void TcpServer::refuse(const Arrival& arrival) {
    constexpr uint64_t kLogEveryNanos = 1'000'000'000;
    const uint64_t now = platform::monotonicNanos();
    if (refusalLoggedNanos_ != 0 && now - refusalLoggedNanos_ < kLogEveryNanos) {
        ++refusalsUnlogged_;
    } else {
        refusalLoggedNanos_ = now;
        const telemetry::LogContext context("listener");
        telemetry::log(
            telemetry::Severity::kWarning,
            telemetry::Component::kNetwork,
            telemetry::LogId::kConnectionRefused,
            "Connection refused because there are too many open connections",
            {{"remote", arrival.call ? arrival.call->remote() : remoteOf(arrival.socket)},
             {"connectionCount", connectionsMax_},
             {"refusedUnlogged", std::exchange(refusalsUnlogged_, 0)}});
    }
    if (arrival.socket >= 0) {
        ::close(arrival.socket);
    }
}

void TcpServer::onArrival(Arrival arrival) {
    if (!admit()) {
        refuse(arrival);
        return;
    }
    ReactorWorker& worker = leastLoaded();
    // [lane.load] relaxed, here and below: a hint for balance.
    worker.load.fetch_add(1, sync::kRelaxed);
    sync::spawn(*worker.reactor, serve(&worker, std::move(arrival)));
}

/// Sessions with equal load go to the reactors in turn.
ReactorWorker& TcpServer::leastLoaded() {
    size_t best = nextWorker_ % workers_.size();
    for (size_t i = 1; i < workers_.size(); ++i) {
        const size_t other = (nextWorker_ + i) % workers_.size();
        // [lane.load]
        if (workers_[other]->load.load(sync::kRelaxed) <
            workers_[best]->load.load(sync::kRelaxed)) {
            best = other;
        }
    }
    nextWorker_ = best + 1;
    return *workers_[best];
}

sync::Task<void> TcpServer::serve(ReactorWorker* worker, Arrival arrival) {
    co_await serveSession(worker, std::move(arrival));
    // [lane.load]
    worker->load.fetch_sub(1, sync::kRelaxed);
    sessionEnded();
}

StatusOr<std::unique_ptr<Session>> TcpServer::makeSession(ReactorWorker& worker, Arrival arrival) {
    if (arrival.call != nullptr) {
        const std::string who = arrival.call->remote();
        auto session = rdma::takeCall(*worker.hub, std::move(arrival.call), nextConnectionId());
        return session.isOk() ? std::move(session)
                              : session.status().withContext("RDMA call of " + who);
    }
    if (worker.hub != nullptr) {
        watchClosely(arrival.socket);  // before its session may close it
    }
    FRESHET_ASSIGN_OR_RETURN(
        std::unique_ptr<Session> session,
        makeReactorSession(*worker.reactor, arrival.socket, nextConnectionId(), worker.policy));
    return worker.hub != nullptr ? rdma::makeServerSession(*worker.hub, std::move(session))
                                 : std::move(session);
}

sync::Task<void> TcpServer::serveSession(ReactorWorker* worker, Arrival arrival) {
    auto session = makeSession(*worker, std::move(arrival));
    if (!session.isOk()) {
        telemetry::logWarning("transport", session.status().toString());
        co_return;
    }
    ReactorWorker::Member member(*worker, std::move(session).value(), *handlers_);
    ServiceStateMachine& machine = member.machine();
    Status why = worker->ending ? machine.end() : Status::ok();
    why = co_await machine.run();
    if (!why.isOk()) {
        tellEnd(machine.session().peer(), why);
    }
}

void TcpServer::sessionEnded() {
    std::lock_guard<sync::Mutex> lock(mutex_);
    if (--current_ == 0) {
        ended_.notify_all();  // under the lock, so that this object is not freed before we have
                              // returned
    }
}

void TcpServer::awaitSessions() {
    std::unique_lock<sync::Mutex> lock(mutex_);
    const auto isOver = [this] { return current_ == 0; };
    if (shutdownOverdue_ &&
        !ended_.wait_for(lock, std::chrono::milliseconds(shutdownMillisMax_), isOver)) {
        const uint64_t left = current_;
        lock.unlock();
        shutdownOverdue_(left);
        lock.lock();
    }
    ended_.wait(lock, isOver);
}

void TcpServer::shutdown() {
    {
        std::lock_guard<sync::Mutex> lock(mutex_);
        if (std::exchange(shutdown_, true) || listener_ == nullptr) {
            return;
        }
    }
    runOn(*workers_.front()->reactor, [this] {
        listener_->stop();
        if (calls_ != nullptr) {
            calls_->stop();
        }
    });
    for (auto& worker : workers_) {
        runOn(*worker->reactor, [&worker] {
            worker->ending = true;
            for (ServiceStateMachine* machine : worker->machines) {
                (void)machine->end();
                machine->hurryHandler();
            }
        });
        // After the sessions were ended: a handler that was waiting for a timer finds its session
        // ended.
        worker->reactor->endTimers();
    }
    awaitSessions();
    for (auto& worker : workers_) {
        if (worker->hub != nullptr) {
            sync::WaitToken emptied;
            runOn(*worker->reactor, [&] { emptied = worker->hub->emptied(); });
            sync::blockOn(emptied);
        }
    }
    for (auto& worker : workers_) {
        worker->reactor->stop();
    }
    for (auto& worker : workers_) {
        worker->reactor->join();
    }
    listener_.reset();
    calls_.reset();
}

void TcpServer::replaceTls(std::shared_ptr<const security::TlsContext> tls) {
    for (auto& worker : workers_) {
        runOn(*worker->reactor, [&worker, &tls] { worker->policy.tls = tls; });
    }
}

ServerTransportStats TcpServer::stats() const {
    ServerTransportStats out;
    {
        std::lock_guard<sync::Mutex> lock(mutex_);
        out.current = current_;
        out.totalCreated = totalCreated_;
        out.rejected = rejected_;
    }
    out.available = connectionsMax_ - out.current;
    for (const auto& worker : workers_) {
        const ReactorCounters& counters = worker->reactor->counters();
        out.bytesIn += ReactorCounters::read(counters.bytesIn);
        out.bytesOut += ReactorCounters::read(counters.bytesOut);
        out.messagesIn += ReactorCounters::read(counters.messagesIn);
        out.messagesOut += ReactorCounters::read(counters.messagesOut);
        out.longPasses += ReactorCounters::read(counters.longPasses);
        out.longestPassMicros = std::max(out.longestPassMicros,
                                         ReactorCounters::read(counters.longestPassNanos) / 1'000);
        for (size_t state = 0; state < kStateCount; ++state) {
            out.nanosIn[state] += worker->times.read(state);
        }
        if (worker->hub != nullptr) {
            worker->hub->addTo(&out.rdma);
        }
    }
    return out;
}

std::vector<sync::Executor*> TcpServer::executors() {
    std::vector<sync::Executor*> out;
    for (auto& worker : workers_) {
        out.push_back(worker->reactor.get());
    }
    return out;
}

}  // namespace

StatusOr<std::unique_ptr<ServerTransport>> ServerTransport::start(
    const ServerTransportOptions& options, std::shared_ptr<MessageHandlerFactory> handlers) {
    auto server = std::make_unique<TcpServer>(options, std::move(handlers));
    FRESHET_RETURN_IF_ERROR(server->open(options));
    return std::unique_ptr<ServerTransport>(std::move(server));
}

}  // namespace freshet::transport
