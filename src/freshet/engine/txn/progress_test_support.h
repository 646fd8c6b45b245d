// SPDX-License-Identifier: Apache-2.0
/// For the progress test: a thread that stops before one of its atomic operations until the test
/// lets it go on. While it runs, no other thread runs.
#pragma once

#include "freshet/base/assert.h"
#include "freshet/platform/thread.h"
#include "freshet/sync/explored_atomic.h"

#include <execinfo.h>

#include <array>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

namespace freshet::engine {

/// Where in the code an atomic operation is: the innermost callers.
struct CodePlace {
    static constexpr int kFrames = 5;
    std::array<void*, kFrames> frames{};
    auto operator<=>(const CodePlace&) const = default;

    __attribute__((noinline)) static CodePlace here() {
        constexpr int kOwnFrames = 3;  // here(), arrive(), and the observer's function
        std::array<void*, kFrames + kOwnFrames> all{};
        const int count = ::backtrace(all.data(), static_cast<int>(all.size()));
        CodePlace place;
        for (int i = kOwnFrames; i < count; ++i) {
            place.frames[static_cast<size_t>(i - kOwnFrames)] = all[static_cast<size_t>(i)];
        }
        return place;
    }
    /// For people.
    std::string text() const {
        std::string out;
        char** names = ::backtrace_symbols(frames.data(), kFrames);
        for (int i = 0; i < kFrames; ++i) {
            out.append(i == 0 ? "" : " < ").append(names[i]);
        }
        std::free(names);
        return out;
    }
};

class Stoppable : sync::AtomicObserver {
public:
    static constexpr size_t kNever = SIZE_MAX;

    /// A thread that runs `prepare`, then `action`, and stops before the `at`-th operation (from 1)
    /// of the latter.
    Stoppable(size_t at, std::function<void()> prepare, std::function<void()> action)
        : at_(at), thread_("stopped", [this, prepare, action] {
              sync::setAtomicObserver(this);
              prepare();
              isCounting_ = true;
              action();
              isCounting_ = false;
              if (slot_ != nullptr) {
                  endOfSlot_(slot_);
              }
              sync::setAtomicObserver(nullptr);
              tell(State::kEnded);
          }) {}
    ~Stoppable() override { goOn(); }

    /// Waits until it has stopped, or has ended without getting that far.
    void waitUntilStopped() {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return state_ != State::kRunning; });
    }
    /// Lets it run to its end. REQUIRES: no other thread uses what it uses.
    void goOn() {
        {
            std::lock_guard lock(mutex_);
            mayGoOn_ = true;
        }
        changed_.notify_all();
        if (thread_.joinable()) {
            thread_.join();
        }
    }
    /// The place of the last operation before which it stopped. REQUIRES: stopped or ended.
    const CodePlace& place() const { return places_.back(); }
    const std::vector<CodePlace>& places() const { return places_; }

private:
    enum class State { kRunning, kStopped, kEnded };

    void tell(State state) {
        {
            std::lock_guard lock(mutex_);
            state_ = state;
        }
        changed_.notify_all();
    }
    __attribute__((noinline)) void arrive() {
        if (!isCounting_ || isHolding_) {
            return;
        }
        ++count_;
        if (at_ == kNever || count_ == at_) {
            places_.push_back(CodePlace::here());
        }
        if (count_ == at_) {
            tell(State::kStopped);
            std::unique_lock lock(mutex_);
            changed_.wait(lock, [this] { return mayGoOn_; });
        }
    }

    // No other thread works while this one does: plain bytes will do.
    uint64_t perform(sync::ExploredPlace&, uint64_t& newest, sync::ExploredOp& op) override {
        arrive();
        const uint64_t old = newest;
        switch (op.kind) {
            case sync::ExploredOp::Kind::kLoad:
                break;
            case sync::ExploredOp::Kind::kStore:
                newest = op.operand;
                break;
            case sync::ExploredOp::Kind::kModify:
                newest = op.apply(old, op.operand);
                break;
            case sync::ExploredOp::Kind::kCompareExchange:
                op.exchanged = old == op.expected;
                newest = op.exchanged ? op.operand : old;
                break;
        }
        return old;
    }
    void fence() override { arrive(); }
    // A thread waits for a mutex only when it joins or leaves, when no other thread runs. A thread
    // that gets a mutex by trying is not stopped while it holds it, since that does hold up threads
    // that join or leave.
    void lock(sync::ExploredPlace&) override {
        invariant(!isCounting_);
        isHolding_ = true;
    }
    bool tryLock(sync::ExploredPlace&) override {
        isHolding_ = true;
        return true;
    }
    void unlock(sync::ExploredPlace&) override { isHolding_ = false; }
    void born(sync::ExploredPlace&, uint64_t&) override {}
    void died(sync::ExploredPlace&) override {}
    void plain(const void*, bool) override {}
    void point() override {}
    void yield() override {}
    void** threadSlot(void (*end)(void*)) override {
        endOfSlot_ = end;
        return &slot_;
    }

    const size_t at_;
    std::mutex mutex_;
    std::condition_variable changed_;
    State state_ = State::kRunning;
    bool mayGoOn_ = false;
    // The thread's own until it has stopped or ended.
    bool isCounting_ = false;
    bool isHolding_ = false;
    size_t count_ = 0;
    std::vector<CodePlace> places_;
    void* slot_ = nullptr;
    void (*endOfSlot_)(void*) = nullptr;
    platform::Thread thread_;  // last: it uses all the others
};

/// Ends the process, with the place where the stopped thread stands, if the object lives for a
/// minute: then other threads wait for the stopped one.
class Watchdog {
public:
    explicit Watchdog(std::string what)
        : what_(std::move(what)), thread_("watchdog", [this] {
              std::unique_lock lock(mutex_);
              constexpr std::chrono::seconds kPatience{60};
              if (!ended_.wait_for(lock, kPatience, [this] { return isOver_; })) {
                  std::fprintf(stderr, "The other threads do not go on. %s\n", what_.c_str());
                  std::abort();
              }
          }) {}
    ~Watchdog() {
        {
            std::lock_guard lock(mutex_);
            isOver_ = true;
        }
        ended_.notify_all();
    }

private:
    const std::string what_;
    std::mutex mutex_;
    std::condition_variable ended_;
    bool isOver_ = false;
    platform::Thread thread_;
};

}  // namespace freshet::engine
