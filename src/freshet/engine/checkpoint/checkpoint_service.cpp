// SPDX-License-Identifier: Apache-2.0
#include "freshet/engine/checkpoint/checkpoint_service.h"

#include "freshet/engine/txn/write_set.h"
#include "freshet/platform/clock.h"
#include "freshet/platform/memory.h"
#include "freshet/telemetry/log.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace freshet::engine {
namespace {

/// How often the thread checks whether a checkpoint is due.
constexpr std::chrono::milliseconds kLookEvery{250};
/// A small disk fills up in a moment.
constexpr std::chrono::milliseconds kLookAtDiskEvery{20};
/// Requests can take several gigabytes a second.
constexpr std::chrono::milliseconds kLookAtMemoryEvery{ProcessMemory::kGlanceEveryMs};
constexpr uint64_t kExpectsNanos = 1'000'000'000;
/// A round in vain lets all waiting callers go on, so that the snapshots in its way end. They must
/// not get far before the next round, nor may rounds take more than a part of the time.
constexpr std::chrono::milliseconds kRestMin{5};
constexpr uint64_t kRestsOfRound = 2;
/// The interval while there is no room, or while more sparse leaves can be merged and at most
/// kIdlePagesMax pages are due otherwise.
constexpr uint64_t kHurriedIntervalMs = 1000;
constexpr uint64_t kIdlePagesMax = 64;
constexpr uint64_t kNanosPerMilli = 1'000'000;
/// A round that frees less than this part of the memory is in vain; writers that hold less are not
/// worth ending.
constexpr uint64_t kWorthwhilePart = 256;
/// A client that is still active has made its next call by then.
constexpr uint64_t kIdleNanosMin = 1'000 * kNanosPerMilli;
/// A writer's memory takes a few rounds to become free: only then may the next writer be ended.
constexpr uint64_t kBetweenEndsNanos = 250 * kNanosPerMilli;
/// How often old writers are looked for.
constexpr uint64_t kBetweenOldNanos = 200 * kNanosPerMilli;

std::chrono::milliseconds restAfter(uint64_t roundNanos) {
    const std::chrono::milliseconds wanted(kRestsOfRound * roundNanos / kNanosPerMilli);
    return std::clamp(wanted, kRestMin, kLookEvery);
}

}  // namespace

CheckpointService::CheckpointService(Checkpointer& checkpointer,
                                     Evictor& evictor,
                                     StoreCore& core,
                                     const CheckpointPace& pace,
                                     std::function<void(const Status&)> onFatal)
    : checkpointer_(checkpointer),
      evictor_(evictor),
      core_(core),
      pace_(pace),
      onFatal_(std::move(onFatal)),
      ages_(pace.snapshotMillisMax * kNanosPerMilli),
      lastEndNanos_(platform::monotonicNanos()) {
    checkpointer_.relieveBy([this] { relieveMeanwhile(); });
}

void CheckpointService::start() {
    platform::setHugePages(false);  // an opening store grows
    core_.memory.start([this] {
        {
            std::lock_guard<std::mutex> guard(mutex_);
            called_ = true;
        }
        changed_.notify_all();
    });
    thread_ = platform::Thread("checkpoint", [this] { run(); });
}

void CheckpointService::stop() {
    core_.memory.stop();
    {
        std::lock_guard<std::mutex> guard(mutex_);
        stopping_ = true;
    }
    changed_.notify_all();
    if (thread_.joinable()) {
        thread_.join();
        platform::setHugePages(true);  // as before start()
    }
    std::lock_guard<std::mutex> guard(mutex_);
    holds_ = 0;
}

uint64_t CheckpointService::intervalMs() const {
    // [space.due] relaxed: stored by this thread, or by an earlier holder of running_.
    const bool isFull = core_.spaceShort.load(sync::kRelaxed) ||
                        (core_.journal != nullptr && core_.journal->isOutOfSpace());
    // [stats.read] relaxed: the number of pages that would be written sooner than necessary.
    const bool isIdle = core_.dirtyPages.load(sync::kRelaxed) <= kIdlePagesMax;
    const bool isHurried = isFull || (hasMoreSparse_ && isIdle);
    return isHurried ? std::min(kHurriedIntervalMs, pace_.intervalMs) : pace_.intervalMs;
}

std::chrono::milliseconds CheckpointService::untilNextLook() const {
    const bool expects = platform::monotonicNanos() < expectsUntilNanos_;
    return std::min(pace_.isDiskShort ? kLookAtDiskEvery : kLookEvery,
                    expects ? kLookAtMemoryEvery : kLookEvery);
}

void CheckpointService::expectMemoryUse() {
    {
        std::lock_guard<std::mutex> guard(mutex_);
        expectsUntilNanos_ = platform::monotonicNanos() + kExpectsNanos;
        called_ = true;
    }
    changed_.notify_all();
}

bool CheckpointService::isDue() {
    return platform::monotonicNanos() - lastEndNanos_ >= intervalMs() * kNanosPerMilli ||
           core_.journalStats().bytes - lastEndBytes_ >= pace_.journalBytes;
}

void CheckpointService::run() {
    std::unique_lock<std::mutex> lock(mutex_);
    while (!stopping_) {
        // After a round in vain the next one waits for the clock, however often it is called.
        const bool rests = core_.memory.isHigh() && !hasFreed_;
        changed_.wait_for(lock, rests ? rest_ : untilNextLook(), [&] {
            return stopping_ || (called_ && !rests);
        });
        called_ = false;
        if (stopping_) {
            continue;
        }
        const bool due = isDue();
        lock.unlock();
        Status status = due ? now() : Status::ok();
        lastRoundBeganNanos_ = roundBeganNanos_;
        roundBeganNanos_ = platform::monotonicNanos();
        MemoryBudget::Round round{};
        do {
            {
                std::lock_guard<std::mutex> guard(running_);
                lookAtProcess();
                endOldWriters();
                lookAtDisk();
                lookAtHistory();
            }
            hasFreed_ = true;
            if (status.isOk() && core_.memory.isHigh()) {
                status = relieveMemory();
            }
            round = endForMemory(resultOfRound(status));
        } while (core_.memory.endRound(round, platform::monotonicNanos()));
        rest_ = restAfter(platform::monotonicNanos() - roundBeganNanos_);
        if (!status.isOk() && status.code() != Code::kNoSpace) {
            core_.memory.stop();
            return;
        }
        lock.lock();
    }
}

MemoryBudget::Round CheckpointService::endForMemory(MemoryBudget::Round round) {
    using enum MemoryBudget::Round;
    const uint64_t now = platform::monotonicNanos();
    ages_.note(now, core_.table.snapshot());
    if (!hasFreed_ && shortenHistory()) {
        return kHeldBack;
    }
    if (hasFreed_ || !core_.memory.isTight()) {
        return round;
    }
    // Memory that is about to become free may be enough.
    if (endOldSnapshots(now) || round != kVain) {
        return round;
    }
    if (now - lastEndedNanos_ < kBetweenEndsNanos) {
        return kHeldBack;
    }
    return endLargestWriter(now) ? kFreed : round;
}

void CheckpointService::lookAtHistory() {
    if (core_.journal != nullptr) {
        core_.history.look(*core_.journal);
    }
}

bool CheckpointService::shortenHistory() {
    return core_.journal != nullptr && core_.history.shorten(*core_.journal, core_.minReadTs());
}

bool CheckpointService::endOldSnapshots(uint64_t nowNanos) {
    const uint64_t below = ages_.tooOldBelow(nowNanos);
    if (core_.minReadTs() >= below) {
        return false;
    }
    if (core_.epochs.endSnapshotsBelow(below)) {
        telemetry::logWarning("engine",
                              "memory is short because of old snapshots: those older than " +
                                  std::to_string(pace_.snapshotMillisMax) + " ms were ended");
    }
    return true;
}

bool CheckpointService::endLargestWriter(uint64_t nowNanos) {
    // A writer that waits for memory waits until a round ends, and a round can be long: spare
    // those.
    const uint64_t suspendedBefore = std::min(lastRoundBeganNanos_, nowNanos - kIdleNanosMin);
    const uint64_t bytes =
        endLargestWrites(core_, suspendedBefore, core_.memory.limit() / kWorthwhilePart);
    if (bytes == 0) {
        return false;
    }
    lastEndedNanos_ = nowNanos;
    telemetry::logWarning("engine",
                          "memory is short: an idle transaction that held " +
                              std::to_string(bytes) + " bytes was ended");
    return true;
}

void CheckpointService::endOldWriters() {
    const uint64_t now = platform::monotonicNanos();
    if (now - lastOldWritersNanos_ < kBetweenOldNanos) {
        return;
    }
    lastOldWritersNanos_ = now;
    uint64_t ended = 0;
    while (endWritesDueBefore(core_, now)) {
        ++ended;
    }
    if (ended != 0) {
        telemetry::logWarning("engine",
                              std::to_string(ended) +
                                  " transactions were ended that had been open for longer than "
                                  "their time limit");
    }
}

MemoryBudget::Round CheckpointService::resultOfRound(const Status& status) {
    if (!status.isOk()) {
        return MemoryBudget::Round::kVain;
    }
    if (hasFreed_) {
        return MemoryBudget::Round::kFreed;
    }
    return hasAllFreed() ? MemoryBudget::Round::kVain : MemoryBudget::Round::kHeldBack;
}

bool CheckpointService::hasAllFreed() {
    std::lock_guard<std::mutex> guard(running_);
    return evictor_.hasAllFreed();
}

bool CheckpointService::mustLookAtProcess(uint64_t now) {
    if (now - lastLookNanos_ >= ProcessMemory::kLookEveryMs * kNanosPerMilli) {
        return true;
    }
    if (now - lastGlanceNanos_ < ProcessMemory::kGlanceEveryMs * kNanosPerMilli) {
        return false;
    }
    lastGlanceNanos_ = now;
    return process_.hasOutgrown(platform::residentBytes(), core_.memory.limit());
}

void CheckpointService::lookAtProcess() {
    const uint64_t now = platform::monotonicNanos();
    if (!mustLookAtProcess(now)) {
        return;
    }
    lastLookNanos_ = now;
    lastGlanceNanos_ = now;
    MemoryBudget& memory = core_.memory;
    uint64_t freed = platform::freedMemoryBytes();
    const uint64_t resident = platform::residentBytes();
    const auto cost = [] {
        platform::setHugePages(true);  // else the cost below is unknown
        return platform::hugePageNanos();
    };
    platform::setHugePages(process_.wantsHugePages(resident, memory.limit(), cost));
    if (process_.givesBack(resident, memory.limit(), memory.used(), freed)) {
        platform::giveBackFreedMemory();
        freed = platform::freedMemoryBytes();
    }
    if (core_.slabs != nullptr) {
        freed += core_.slabs->bytesFree();  // can be reused as well
    }
    memory.setBeside(process_.besidePages(platform::residentBytes(), memory.used(), freed));
}

uint64_t CheckpointService::evictDownTo(uint64_t bytes) {
    std::lock_guard<std::mutex> guard(running_);
    evictHeld(bytes);
    return evictedBytes_;
}

void CheckpointService::evictHeld(uint64_t bytes) {
    evictedBytes_ += evictor_.evictDownTo(bytes);
    const uint64_t leaves = evictor_.leaves();
    std::lock_guard<std::mutex> counted(mutex_);
    stats_.evictedLeaves = leaves;
}

Status CheckpointService::relieveMemory() {
    const MemoryBudget& memory = core_.memory;
    const uint64_t before = lastEvictedBytes_;
    lastEvictedBytes_ = evictDownTo(memory.low());
    // What is left is due, was read recently, is needed by snapshots, or is not freed yet. After a
    // checkpoint that found no room there are due pages that are not counted.
    // [stats.add], [space.write] relaxed: what is missed now is seen by the next round.
    const bool isAnyDue =
        core_.dirtyPages.load(sync::kRelaxed) != 0 || core_.spaceShort.load(sync::kRelaxed);
    if (isAnyDue && hasAllFreed() && memory.used() > (memory.low() + memory.high()) / 2) {
        FRESHET_RETURN_IF_ERROR(writeBack());
        lastEvictedBytes_ = evictDownTo(memory.low());
    }
    const uint64_t evicted = lastEvictedBytes_ - before;
    hasFreed_ = !memory.isHigh() || evicted > memory.limit() / kWorthwhilePart;
    return Status::ok();
}

void CheckpointService::relieveMeanwhile() {
    lookAtProcess();
    endOldWriters();
    lookAtDisk();
    lookAtHistory();
    MemoryBudget& memory = core_.memory;
    if (!memory.isHigh()) {
        return;
    }
    const uint64_t before = evictedBytes_;
    evictHeld(memory.low());
    // Waiting callers would otherwise wait until the checkpoint is made. If nothing could be
    // evicted, the snapshot of one of them may be in the way.
    using enum MemoryBudget::Round;
    if (evictedBytes_ == before) {
        shortenHistory();
    }
    memory.endRound(evictedBytes_ == before ? kHeldBack : kFreed, platform::monotonicNanos());
}

Status CheckpointService::now() {
    std::lock_guard<std::mutex> guard(running_);
    return isHeld() ? failure_ : makeOne();
}

Status CheckpointService::hold() {
    std::lock_guard<std::mutex> guard(running_);
    FRESHET_RETURN_IF_ERROR(isHeld() ? failure_ : makeOne());
    std::lock_guard<std::mutex> counted(mutex_);
    ++holds_;
    return Status::ok();
}

void CheckpointService::release() {
    std::lock_guard<std::mutex> guard(mutex_);
    invariant(holds_ != 0);
    --holds_;
}

bool CheckpointService::isHeld() {
    std::lock_guard<std::mutex> guard(mutex_);
    return holds_ != 0;
}

Status CheckpointService::makeOne() {
    FRESHET_RETURN_IF_ERROR(failure_);
    const uint64_t began = platform::monotonicNanos();
    Status status = checkpointer_.run();
    noteEnd(began);
    return judge(std::move(status));
}

Status CheckpointService::writeBack() {
    std::lock_guard<std::mutex> guard(running_);
    FRESHET_RETURN_IF_ERROR(failure_);
    if (isHeld()) {
        return Status::ok();
    }
    const uint64_t began = platform::monotonicNanos();
    const uint64_t before = checkpointer_.made();
    Status status = checkpointer_.writeBack();
    if (checkpointer_.made() != before) {
        noteEnd(began);
    }
    return judge(std::move(status));
}

Status CheckpointService::judge(Status status) {
    if (status.isOk() || status.code() == Code::kNoSpace) {
        noteSpace(status);
    } else {
        failure_ = status;
        telemetry::logError("engine", "checkpoint failed: " + status.toString());
        onFatal_(status);
    }
    return status;
}

void CheckpointService::lookAtDisk() {
    // [space.due] relaxed: as in intervalMs().
    if (pace_.isDiskShort && !core_.spaceShort.load(sync::kRelaxed) && pace_.isDiskShort()) {
        noteSpace(Status::ok());
    }
}

void CheckpointService::noteSpace(const Status& status) {
    const bool isDiskShort = pace_.isDiskShort && pace_.isDiskShort();
    const bool isShort = !status.isOk() || checkpointer_.isSpaceShort() || isDiskShort;
    // [space.write] relaxed: see StoreCore::spaceShort. Only the holder of running_ writes it.
    if (core_.spaceShort.exchange(isShort, sync::kRelaxed) == isShort) {
        return;
    }
    if (isShort) {
        telemetry::logError(
            "engine",
            status.isOk() ? "the data file cannot grow: writes that add to it are refused"
                          : "checkpoint given up, writes that add to the data file are refused: " +
                                status.toString());
    } else {
        telemetry::logInfo("engine", "the data file has room again: everything is accepted");
    }
}

void CheckpointService::noteEnd(uint64_t beganNanos) {
    const uint64_t ended = platform::monotonicNanos();
    std::lock_guard<std::mutex> guard(mutex_);
    lastEndNanos_ = ended;
    lastEndBytes_ = core_.journalStats().bytes;
    hasMoreSparse_ = checkpointer_.hasMoreSparse();
    if (checkpointer_.made() != stats_.checkpoints) {
        stats_.checkpoints = checkpointer_.made();
        stats_.lastMillis = (ended - beganNanos) / kNanosPerMilli;
        stats_.lastWallMs = platform::wallMillis();
        telemetry::log(telemetry::Severity::kDebug1,
                       telemetry::Component::kStorage,
                       telemetry::LogId::kCheckpointMade,
                       "Checkpoint made",
                       {{"number", stats_.checkpoints}, {"durationMillis", stats_.lastMillis}});
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
