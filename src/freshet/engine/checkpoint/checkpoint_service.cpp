// SPDX-License-Identifier: Apache-2.0
#include "freshet/engine/checkpoint/checkpoint_service.h"

#include "freshet/platform/clock.h"
#include "freshet/telemetry/log.h"

#include <chrono>

namespace freshet::engine {
namespace {

/// How often the thread looks whether a checkpoint is due.
constexpr std::chrono::milliseconds kLookEvery{250};
constexpr uint64_t kNanosPerMilli = 1'000'000;

}  // namespace

CheckpointService::CheckpointService(Checkpointer& checkpointer,
                                     journal::Journal& journal,
                                     const CheckpointPace& pace,
                                     std::function<void(const Status&)> onFatal)
    : checkpointer_(checkpointer),
      journal_(journal),
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
    return platform::monotonicNanos() - lastEndNanos_ >= pace_.intervalMs * kNanosPerMilli ||
           journal_.stats().bytes - lastEndBytes_ >= pace_.journalBytes;
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
    if (status.code() == Code::kNoSpace) {
        if (!isFull_) {
            telemetry::logError("engine", "checkpoint given up: " + status.toString());
        }
        isFull_ = true;
    } else if (!status.isOk()) {
        failure_ = status;
        telemetry::logError("engine", "checkpoint failed: " + status.toString());
        onFatal_(status);
    } else if (isFull_) {
        isFull_ = false;
        telemetry::logInfo("engine", "there is room for checkpoints again");
    }
    return status;
}

void CheckpointService::noteEnd(uint64_t beganNanos) {
    const uint64_t ended = platform::monotonicNanos();
    std::lock_guard<std::mutex> guard(mutex_);
    lastEndNanos_ = ended;
    lastEndBytes_ = journal_.stats().bytes;
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
