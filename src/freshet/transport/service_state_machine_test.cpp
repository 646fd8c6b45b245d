// SPDX-License-Identifier: Apache-2.0
/// The state machine without threads: the table, the order of states, and how a session ends.
#include "freshet/transport/service_state_machine.h"

#include "freshet/platform/clock.h"
#include "freshet/platform/thread.h"
#include "freshet/transport/session/completion.h"
#include "freshet/transport/session/put_off.h"
#include "freshet/transport/session/step_executor_for_test.h"

#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <set>

namespace freshet::transport {
namespace {

using enum State;
constexpr State kAll[] = {kCreated, kSource, kSourceWait, kProcess, kSinkWait, kEndSession, kEnded};

/// As in the header's picture.
const std::set<std::pair<State, State>> kLegal = {
    {kCreated, kSource},
    {kSource, kSourceWait},
    {kSourceWait, kProcess},
    {kProcess, kSinkWait},
    {kProcess, kSource},
    {kSinkWait, kSource},
    {kSinkWait, kProcess},
    {kCreated, kEndSession},
    {kSource, kEndSession},
    {kSourceWait, kEndSession},
    {kProcess, kEndSession},
    {kSinkWait, kEndSession},
    {kEndSession, kEnded},
};

/// Brings a new state object to `target` by legal transitions.
ServiceState stateAt(State target) {
    ServiceState state;
    const bool ending = target == kEndSession || target == kEnded;
    for (State step : {kSource, kSourceWait, kProcess, kSinkWait, kEndSession, kEnded}) {
        if (state.current() == target || (ending && state.current() == kEnded)) {
            break;
        }
        EXPECT_TRUE(state.advance(step).isOk());
    }
    EXPECT_EQ(state.current(), target);
    return state;
}

TEST(ServiceState, AllFortyNinePairs) {
    int legal = 0;
    for (State from : kAll) {
        for (State to : kAll) {
            SCOPED_TRACE(std::string(stateName(from)) + " -> " + std::string(stateName(to)));
            ServiceState state = stateAt(from);
            const size_t before = state.transitions();
            Status status = state.advance(to);
            const bool expected = kLegal.count({from, to}) != 0;
            EXPECT_EQ(isLegalTransition(from, to), expected);
            EXPECT_EQ(status.isOk(), expected);
            EXPECT_EQ(state.current(), expected ? to : from);
            EXPECT_EQ(state.transitions(), before + (expected ? 1 : 0));
            if (!expected) {
                EXPECT_EQ(status.code(), Code::kInvalid);
                EXPECT_NE(status.text().find(stateName(from)), std::string_view::npos);
                EXPECT_NE(status.text().find(stateName(to)), std::string_view::npos);
            }
            legal += expected;
        }
    }
    EXPECT_EQ(legal, 13);
}

TEST(ServiceState, HaveStableNames) {
    std::set<std::string_view> names;
    for (State state : kAll) {
        names.insert(stateName(state));
    }
    EXPECT_EQ(names.size(), kStateCount);
    EXPECT_EQ(stateName(kSourceWait), "SourceWait");
    EXPECT_EQ(stateName(kEndSession), "EndSession");
}

TEST(ServiceState, HistoryKeepsTheNewestSixteen) {
    ServiceState state;
    ASSERT_TRUE(state.advance(kSource).isOk());
    for (int i = 0; i < 20; ++i) {
        ASSERT_TRUE(state.advance(kSourceWait).isOk());
        ASSERT_TRUE(state.advance(kProcess).isOk());
        ASSERT_TRUE(state.advance(kSource).isOk());
    }
    EXPECT_EQ(state.transitions(), 61u);
    EXPECT_EQ(state.history(0).to, kSource);
    EXPECT_EQ(state.history(1).to, kProcess);
    EXPECT_EQ(state.history(15).to, kSource);
    EXPECT_EQ(state.history(16).nanos, 0u);
    uint64_t total = 0;
    for (uint64_t nanos : state.nanosIn()) {
        total += nanos;
    }
    EXPECT_GE(total, state.history(0).nanos - state.history(15).nanos);
}

TEST(ServiceState, SumsIncludeTheTimesOfEach) {
    StateTimes sums;
    ServiceState one(&sums), other(&sums);
    for (ServiceState* state : {&one, &other}) {
        ASSERT_TRUE(state->advance(kSource).isOk());
        for (State next : {kSourceWait, kProcess, kSinkWait, kEndSession}) {
            const uint64_t now = platform::coarseNanos();
            while (platform::coarseNanos() == now) {
                platform::yieldThread();
            }
            ASSERT_TRUE(state->advance(next).isOk());
        }
    }
    for (size_t state = 0; state < kStateCount; ++state) {
        EXPECT_EQ(sums.read(state), one.nanosIn()[state] + other.nanosIn()[state]) << state;
    }
    EXPECT_GT(sums.read(static_cast<size_t>(kProcess)), 0u);
}

/// A session whose completions the test makes.
class HandSession final : public Session {
public:
    explicit HandSession(sync::Executor& executor) : source(executor), sink(executor) {}
    StatusOr<Message> sourceMessage() override { return Status(Code::kUnsupported, ""); }
    Status sinkMessage(ReplyChain) override { return Status(Code::kUnsupported, ""); }
    sync::Task<StatusOr<Message>> asyncSourceMessage() override {
        sourceSeq = source.begin();
        Status status = co_await source.done();
        if (!status.isOk()) {
            co_return status;
        }
        co_return Message(messageForTest(1, incoming));
    }
    sync::Task<Status> asyncSinkMessage(ReplyChain chain) override {
        sent.emplace_back(chain.segment(0));
        sinkSeq = sink.begin();
        co_return co_await sink.done();
    }
    void close() override { ++closes; }
    void setMessageBytesMax(size_t bytes) override { bytesMax.push_back(bytes); }
    bool watchPeer(PeerWatcher* theWatcher) override {
        watcher = theWatcher;
        return canWatch;
    }
    const PeerInfo& peer() const override { return peer_; }
    SessionStats stats() const override { return {}; }

    std::vector<size_t> bytesMax;
    PeerWatcher* watcher = nullptr;
    bool canWatch = true;
    Completion source, sink;
    uint64_t sourceSeq = 0, sinkSeq = 0;
    std::string incoming;
    std::vector<std::string> sent;
    int closes = 0;

private:
    PeerInfo peer_;
};

/// Answers as the message's text says.
class TextHandler final : public MessageHandler {
public:
    explicit TextHandler(std::vector<std::string>* log) : log_(log) {}
    ~TextHandler() override { log_->push_back("handler destroyed"); }
    sync::Task<HandlerResult> handle(Message message) override {
        const std::string text(payloadForTest(message));
        log_->push_back(text);
        HandlerResult result;
        if (text == "wait") {
            gate = sync::WaitToken::create();
            co_await sync::wait(gate);
        }
        if (text != "silent") {
            result.reply = ReplyChain(text);
        }
        result.exhaust = text == "exhaust";
        result.endSession = text == "last";
        co_return result;
    }
    sync::Task<HandlerResult> handleExhaust() override {
        HandlerResult result;
        result.reply = ReplyChain("more");
        result.exhaust = ++exhausted_ < 2;
        co_return result;
    }
    size_t messageBytesMax() const override { return 2'000; }
    bool lookAhead(const Message& message) override {
        const bool isRead = payloadForTest(message) == "read";
        if (isRead) {
            log_->push_back("looked at");
        }
        return isRead;
    }
    void onPeerGone() override {
        log_->push_back("peer gone");
        gate.complete();
    }
    void onReplyLost() override { log_->push_back("reply lost"); }
    sync::WaitToken gate;

private:
    std::vector<std::string>* log_;
    int exhausted_ = 0;
};

/// Hands out one handler, and counts messages.
class OneHandler final : public MessageHandlerFactory, public BusyListener {
public:
    explicit OneHandler(std::unique_ptr<TextHandler> handler) : handler_(std::move(handler)) {}
    std::unique_ptr<MessageHandler> create(const PeerInfo&) override { return std::move(handler_); }
    size_t firstMessageBytesMax() const override { return 1'000; }
    void onSessionBusy() override { ++busy; }
    int busy = 0;

private:
    std::unique_ptr<TextHandler> handler_;
};

class Machine : public ::testing::Test {
protected:
    Machine() {
        auto session = std::make_unique<HandSession>(executor);
        session_ = session.get();
        auto handler = std::make_unique<TextHandler>(&log);
        handler_ = handler.get();
        handlers_ = std::make_unique<OneHandler>(std::move(handler));
        machine =
            std::make_unique<ServiceStateMachine>(std::move(session), *handlers_, handlers_.get());
    }
    void start() {
        sync::spawn(executor, keep(machine.get(), &result));
        executor.runAll();
    }
    void receive(const std::string& text) {
        session_->incoming = text;
        ASSERT_TRUE(session_->source.finish(session_->sourceSeq, Status::ok()));
        executor.runAll();
    }
    void sent(Status status = Status::ok()) {
        ASSERT_TRUE(session_->sink.finish(session_->sinkSeq, std::move(status)));
        executor.runAll();
    }
    void finishSource(Status status) {
        ASSERT_TRUE(session_->source.finish(session_->sourceSeq, std::move(status)));
        executor.runAll();
    }
    State now() const { return machine->state().current(); }
    static sync::Task<void> keep(ServiceStateMachine* machine, std::optional<Status>* out) {
        out->emplace(co_await machine->run());
    }

    std::vector<std::string> log;
    StepExecutorForTest executor;
    std::unique_ptr<OneHandler> handlers_;
    std::unique_ptr<ServiceStateMachine> machine;
    HandSession* session_;
    TextHandler* handler_;
    std::optional<Status> result;
};

TEST_F(Machine, RequestAndReply) {
    EXPECT_EQ(now(), kCreated);
    start();
    EXPECT_EQ(now(), kSourceWait);
    receive("hello");
    EXPECT_EQ(now(), kSinkWait);
    EXPECT_EQ(session_->sent, std::vector<std::string>{"hello"});
    sent();
    EXPECT_EQ(now(), kSourceWait);
    finishSource(Status(Code::kCancelled, "gone"));
    EXPECT_EQ(now(), kEnded);
    ASSERT_TRUE(result.has_value());
    EXPECT_TRUE(result->isOk()) << "a peer that leaves between messages is no error";
    EXPECT_GE(session_->closes, 1);
    EXPECT_EQ(log.back(), "handler destroyed");
    std::vector<State> steps;
    for (size_t i = machine->state().transitions(); i-- > 0;) {
        steps.push_back(machine->state().history(i).to);
    }
    EXPECT_EQ(
        steps,
        (std::vector<State>{
            kSource, kSourceWait, kProcess, kSinkWait, kSource, kSourceWait, kEndSession, kEnded}));
}

TEST_F(Machine, FireAndForgetGoesStraightBack) {
    start();
    receive("silent");
    EXPECT_EQ(now(), kSourceWait);
    EXPECT_TRUE(session_->sent.empty());
    EXPECT_EQ(machine->state().history(1).to, kSource);
    EXPECT_EQ(machine->state().history(2).to, kProcess);
    finishSource(Status(Code::kCancelled, ""));
}

TEST_F(Machine, APutOffMessageWaitsForTheSecondHalfOfThePass) {
    PutOff putOff;
    PutOff::setCurrent(&putOff);
    start();
    receive("silent");
    EXPECT_TRUE(putOff.isEmpty());
    receive("read");
    EXPECT_EQ(log, (std::vector<std::string>{"silent", "looked at"}));
    EXPECT_EQ(now(), kProcess);
    sync::WorkItem* item = putOff.takeAll();
    ASSERT_NE(item, nullptr);
    EXPECT_EQ(item->next, nullptr);
    item->run(item);
    EXPECT_EQ(log, (std::vector<std::string>{"silent", "looked at", "read"}));
    EXPECT_EQ(session_->sent, std::vector<std::string>{"read"});
    sent();
    PutOff::setCurrent(nullptr);
    receive("read");
    EXPECT_EQ(log.back(), "read") << "there is no second half here";
    sent();
    finishSource(Status(Code::kCancelled, ""));
}

TEST_F(Machine, ExhaustRepliesNeedNoNewRequest) {
    start();
    receive("exhaust");
    sent();
    EXPECT_EQ(now(), kSinkWait);
    EXPECT_EQ(machine->state().history(1).to, kProcess);
    sent();
    sent();
    EXPECT_EQ(session_->sent, (std::vector<std::string>{"exhaust", "more", "more"}));
    EXPECT_EQ(now(), kSourceWait);
    finishSource(Status(Code::kCancelled, ""));
}

TEST_F(Machine, HandlerEndsTheSessionAfterItsReply) {
    start();
    receive("last");
    EXPECT_EQ(now(), kSinkWait);
    EXPECT_EQ(session_->closes, 0);
    sent();
    EXPECT_EQ(now(), kEnded);
    EXPECT_TRUE(result->isOk());
}

TEST_F(Machine, ErrorsEndItAndAreReported) {
    start();
    receive("hello");
    sent(Status(Code::kIo, "broken"));
    EXPECT_EQ(now(), kEnded);
    EXPECT_EQ(result->code(), Code::kIo);
    EXPECT_EQ(log, (std::vector<std::string>{"hello", "reply lost", "handler destroyed"}));
}

TEST_F(Machine, EndWaitsForTheOutstandingCompletion) {
    start();
    EXPECT_TRUE(machine->end().isOk());
    EXPECT_TRUE(machine->end().isOk()) << "asking twice is allowed";
    executor.runAll();
    EXPECT_GE(session_->closes, 1) << "the operation is cancelled";
    EXPECT_EQ(now(), kSourceWait) << "and its completion awaited";
    finishSource(Status(Code::kCancelled, ""));
    EXPECT_EQ(now(), kEnded);
}

TEST_F(Machine, EndDuringProcessLetsTheHandlerFinish) {
    start();
    receive("wait");
    EXPECT_EQ(now(), kProcess);
    EXPECT_TRUE(machine->end().isOk());
    executor.runAll();
    EXPECT_EQ(now(), kProcess);
    handler_->gate.complete();
    executor.runAll();
    sent(Status(Code::kCancelled, ""));
    EXPECT_EQ(now(), kEnded);
}

TEST_F(Machine, MessagesBeforeLoginAreLimited) {
    start();
    EXPECT_EQ(session_->bytesMax, std::vector<size_t>{1'000}) << "no handler yet";
    receive("hello");
    EXPECT_EQ(handlers_->busy, 1);
    sent();
    EXPECT_EQ(session_->bytesMax, (std::vector<size_t>{1'000, 2'000})) << "the handler says";
    finishSource(Status(Code::kCancelled, ""));
}

TEST_F(Machine, ALongHandlerHearsThatThePeerHasGone) {
    start();
    EXPECT_FALSE(machine->watchLongHandler()) << "nothing runs";
    receive("wait");
    EXPECT_TRUE(machine->watchLongHandler()) << "it may be a short one";
    EXPECT_EQ(session_->watcher, nullptr);
    session_->canWatch = false;
    EXPECT_TRUE(machine->watchLongHandler());
    session_->canWatch = true;
    EXPECT_FALSE(machine->watchLongHandler());
    ASSERT_NE(session_->watcher, nullptr);
    session_->watcher->onPeerGone();
    EXPECT_EQ(log.back(), "peer gone");
    executor.runAll();
    EXPECT_EQ(now(), kSinkWait);
    session_->watcher->onPeerGone();
    EXPECT_EQ(log.back(), "peer gone") << "once: no handler runs now";
    sent(Status(Code::kIo, "gone"));
    EXPECT_EQ(now(), kEnded);
}

TEST_F(Machine, AConnectionThatNeverSpeaksHasNoHandler) {
    start();
    finishSource(Status(Code::kCancelled, ""));
    EXPECT_EQ(now(), kEnded);
    EXPECT_EQ(log, std::vector<std::string>{});
}

TEST_F(Machine, EveryCallInEndedIsAnError) {
    start();
    EXPECT_EQ(machine->state().current(), kSourceWait);
    std::optional<Status> second;
    sync::spawn(executor, keep(machine.get(), &second));
    executor.runAll();
    EXPECT_EQ(second->code(), Code::kInvalid) << "run() twice";
    finishSource(Status(Code::kCancelled, ""));
    ASSERT_EQ(now(), kEnded);
    EXPECT_EQ(machine->end().code(), Code::kInvalid);
    sync::spawn(executor, keep(machine.get(), &second));
    executor.runAll();
    EXPECT_EQ(second->code(), Code::kInvalid);
    EXPECT_EQ(now(), kEnded);
}

sync::Task<void> await(Completion* completion, std::vector<Code>* out) {
    Status status = co_await completion->done();
    out->push_back(status.code());
}

TEST(Completion, StaleAndDuplicateOnesAreDropped) {
    StepExecutorForTest executor;
    Completion completion(executor);
    std::vector<Code> results;
    const uint64_t first = completion.begin();
    sync::spawn(executor, await(&completion, &results));
    executor.runAll();
    EXPECT_TRUE(completion.finish(first, Status(Code::kCancelled, "given up")));
    EXPECT_FALSE(completion.finish(first, Status::ok())) << "doubled, not yet taken";
    executor.runAll();
    EXPECT_EQ(results, std::vector<Code>{Code::kCancelled});
    EXPECT_FALSE(completion.finish(first, Status::ok())) << "doubled, taken";
    const uint64_t second = completion.begin();
    EXPECT_NE(second, first);
    EXPECT_FALSE(completion.finish(first, Status(Code::kIo, "late"))) << "stale";
    EXPECT_TRUE(completion.finish(second, Status::ok()));
    sync::spawn(executor, await(&completion, &results));
    executor.runAll();
    EXPECT_EQ(results, (std::vector<Code>{Code::kCancelled, Code::kOk}));
    EXPECT_TRUE(completion.isIdle());
}

}  // namespace
}  // namespace freshet::transport
