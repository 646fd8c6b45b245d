// SPDX-License-Identifier: Apache-2.0
#include "freshet/engine/checkpoint/checkpoint_service.h"

#include "freshet/platform/clock.h"
#include "freshet/telemetry/log.h"

#include <algorithm>
#include <chrono>

namespace freshet::engine {
namespace {

/// How often the thread looks whether a checkpoint is due.
constexpr std::chrono::milliseconds kLookEvery{250};
/// How soon it is tried again while there is no room.
constexpr uint64_t kFullIntervalMs = 1000;
constexpr uint64_t kNanosPerMilli = 1'000'000;

}  // namespace

CheckpointService::CheckpointService(Checkpointer& checkpointer,
                                     StoreCore& core,
                                     const CheckpointPace& pace,
                                     std::function<void(const Status&)> onFatal)
    : checkpointer_(checkpointer),
      core_(core),
      pace_(pace),
      onFatal_(std::move(onFatal)),
      lastEndNanos_(platform::monotonicNanos()) {}

void CheckpointService::start() {
    thread_ = platform::Thread("checkpoint", [this] { run(); });
}

void CheckpointService::stop() {
    {
        std::lock_guard<std::mutex> guard(mutex_);
        stopping_ = true;
    }
    changed_.notify_all();
    if (thread_.joinable()) {
        thread_.join();
    }
}

bool CheckpointService::isDue() {
    // [space.due] relaxed: what this thread, or one that held running_ before it, has stored.
    const uint64_t intervalMs = core_.spaceShort.load(sync::kRelaxed)
                                    ? std::min(kFullIntervalMs, pace_.intervalMs)
                                    : pace_.intervalMs;
    return platform::monotonicNanos() - lastEndNanos_ >= intervalMs * kNanosPerMilli ||
           core_.journal->stats().bytes - lastEndBytes_ >= pace_.journalBytes;
}

void CheckpointService::run() {
    std::unique_lock<std::mutex> lock(mutex_);
    while (!stopping_) {
        changed_.wait_for(lock, kLookEvery);
        if (stopping_ || !isDue()) {
            continue;
        }
        lock.unlock();
        const Status status = now();
        lock.lock();
        if (!status.isOk() && status.code() != Code::kNoSpace) {
            return;
        }
    }
}

Status CheckpointService::now() {
    std::lock_guard<std::mutex> guard(running_);
    FRESHET_RETURN_IF_ERROR(failure_);
    const uint64_t began = platform::monotonicNanos();
    Status status = checkpointer_.run();
    noteEnd(began);
    if (status.isOk() || status.code() == Code::kNoSpace) {
        noteSpace(status);
    } else {
        failure_ = status;
        telemetry::logError("engine", "checkpoint failed: " + status.toString());
        onFatal_(status);
    }
    return status;
}

void CheckpointService::noteSpace(const Status& status) {
    const bool isShort = !status.isOk() || checkpointer_.isSpaceShort();
    // [space.write] relaxed: see StoreCore::spaceShort. Only the holder of running_ writes it.
    if (core_.spaceShort.exchange(isShort, sync::kRelaxed) == isShort) {
        return;
    }
    if (isShort) {
        telemetry::logError("engine",
                            status.isOk()
                                ? "the data file cannot grow: what adds to it is refused"
                                : "checkpoint given up, what adds to the data file is refused: " +
                                      status.toString());
    } else {
        telemetry::logInfo("engine", "the data file has room again: everything is accepted");
    }
}

void CheckpointService::noteEnd(uint64_t beganNanos) {
    const uint64_t ended = platform::monotonicNanos();
    std::lock_guard<std::mutex> guard(mutex_);
    lastEndNanos_ = ended;
    lastEndBytes_ = core_.journal->stats().bytes;
    if (checkpointer_.made() != stats_.checkpoints) {
        stats_.checkpoints = checkpointer_.made();
        stats_.lastMillis = (ended - beganNanos) / kNanosPerMilli;
        stats_.lastWallMs = platform::wallMillis();
    }
}

void CheckpointService::between(const std::function<void()>& work) {
    std::lock_guard<std::mutex> guard(running_);
    work();
}

CheckpointStats CheckpointService::stats() {
    std::lock_guard<std::mutex> guard(mutex_);
    return stats_;
}

}  // namespace freshet::engine
