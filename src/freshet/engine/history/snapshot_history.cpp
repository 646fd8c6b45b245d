// SPDX-License-Identifier: Apache-2.0
#include "freshet/engine/history/snapshot_history.h"

#include "freshet/base/assert.h"
#include "freshet/engine/commits/late_commits.h"
#include "freshet/platform/clock.h"

#include <algorithm>
#include <bit>
#include <mutex>
#include <utility>

namespace freshet::engine {
namespace {

constexpr uint64_t kNanosPerSecond = 1'000'000'000;
constexpr size_t kRecentMax = 32;
/// A commit's versions take at least this much.
constexpr uint64_t kVersionBytesMin = 256;
constexpr uint64_t kCellsMin = 4'096;
constexpr uint64_t kCellsMax = uint64_t{1} << 21;

Status tooOld() {
    return Status(Code::kConflict,
                  Reason::kSnapshotTooOld,
                  "the snapshot is older than the history that is kept");
}

}  // namespace

void SnapshotHistory::setBytesMax(uint64_t bytes) {
    bytesMax_ = bytes;
    cells_ = static_cast<uint32_t>(
        std::bit_floor(std::clamp(bytes / kVersionBytesMin, kCellsMin, kCellsMax)));
}

void SnapshotHistory::keep(uint64_t seconds, bool always) {
    std::lock_guard<sync::Mutex> lock(mutex_);
    seconds_ = seconds;
    isAlways_ = always && seconds != 0;
    if (isAlways_ && state_ == State::kOff) {
        beginStart();
    }
}

uint64_t SnapshotHistory::windowNanos() const {
    // Less would end snapshots that are just being taken.
    return std::clamp<uint64_t>(seconds_, 1, UINT64_MAX / 4 / kNanosPerSecond) * kNanosPerSecond;
}

HistoryBounds SnapshotHistory::bounds() const {
    // Not all of the cells: the floor moves only now and then.
    return {windowNanos(), bytesMax_, cells_ / 4 * 3};
}

bool SnapshotHistory::isUnused(uint64_t nowNanos) const {
    return !isAlways_ && nowNanos - lastUseNanos_ >= windowNanos();
}

HistoryMark SnapshotHistory::markOf(const journal::Journal& journal, uint64_t nowNanos) const {
    HistoryMark mark;
    mark.nanos = nowNanos;
    // The clock first: the records of all commits up to it were appended before.
    mark.ts = table_.snapshot();
    mark.time = journal.now() - 1;
    mark.bytes = journal.stats().bytes;
    return mark;
}

void SnapshotHistory::beginStart() {
    times_.start(domain_, cells_);
    grace_ = domain_.graceFromNow();
    state_ = State::kStarting;
}

void SnapshotHistory::finishStart(const journal::Journal& journal, uint64_t nowNanos) {
    if (!domain_.isOver(grace_)) {
        return;
    }
    // Commits that were not noted are complete, and the clock has reached them.
    floor_.open();
    marks_.add(markOf(journal, nowNanos));
    lastUseNanos_ = nowNanos;
    state_ = State::kOn;
}

void SnapshotHistory::beginStop() {
    times_.stop();
    floor_.raise(sync::SnapshotFloor::kClosed);
    marks_.clear();
    recent_.clear();
    state_ = State::kStopping;
}

void SnapshotHistory::step(const journal::Journal& journal, uint64_t nowNanos) {
    if (state_ == State::kStopping && floor_.isSettled()) {
        times_.free();
        state_ = State::kOff;
    }
    if (state_ == State::kStarting) {
        finishStart(journal, nowNanos);
    }
}

void SnapshotHistory::moveFloor() {
    if (floor_.isSettled() && marks_.oldest().ts > floor_.floor()) {
        floor_.raise(marks_.oldest().ts);
    }
}

void SnapshotHistory::look(const journal::Journal& journal) {
    std::lock_guard<sync::Mutex> lock(mutex_);
    const uint64_t nowNanos = platform::monotonicNanos();
    step(journal, nowNanos);
    if (state_ == State::kOff && isAlways_) {
        beginStart();
    }
    if (state_ != State::kOn) {
        return;
    }
    if (isUnused(nowNanos)) {
        beginStop();
        return;
    }
    const HistoryMark now = markOf(journal, nowNanos);
    if (marks_.wants(now, bounds())) {
        marks_.add(now);
    }
    marks_.drop(now, bounds());
    moveFloor();
}

bool SnapshotHistory::shorten(const journal::Journal& journal, uint64_t minReadTs) {
    std::lock_guard<sync::Mutex> lock(mutex_);
    const uint64_t nowNanos = platform::monotonicNanos();
    step(journal, nowNanos);
    if (state_ != State::kOn) {
        return false;
    }
    if (floor_.isSettled() && minReadTs < floor_.floor()) {
        return false;
    }
    bool isWorthwhile = true;
    if (marks_.size() == 1) {
        const HistoryMark now = markOf(journal, nowNanos);
        if (now.ts == marks_.oldest().ts) {
            return false;
        }
        // Otherwise there would be something to forget after each commit, and nothing else would
        // ever be ended.
        isWorthwhile = now.nanos - marks_.oldest().nanos >= kNanosPerSecond;
        marks_.add(now);
    }
    marks_.dropHalf();
    moveFloor();
    return isWorthwhile;
}

void SnapshotHistory::shut() {
    std::lock_guard<sync::Mutex> lock(mutex_);
    if (state_ == State::kOff) {
        return;
    }
    times_.stop();
    floor_.drop();
    times_.free();
    marks_.clear();
    recent_.clear();
    state_ = State::kOff;
    isAlways_ = false;
}

bool SnapshotHistory::findRecent(uint64_t time, Snapshot* snapshot) const {
    const auto found = std::find_if(
        recent_.begin(), recent_.end(), [&](const Snapshot& one) { return one.time() == time; });
    if (found != recent_.end()) {
        *snapshot = *found;
    }
    return found != recent_.end();
}

Status SnapshotHistory::begin(const journal::Journal& journal, uint64_t time, Snapshot* snapshot) {
    if (time == 0) {
        // As markOf() does.
        snapshot->base_ = table_.snapshot();
        snapshot->time_ = journal.now() - 1;
    } else {
        const HistoryMark* mark = marks_.before(time);
        if (mark == nullptr) {
            return tooOld();
        }
        snapshot->base_ = mark->ts;
        snapshot->time_ = time;
    }
    // Records up to that time are below the tail by now. If they were all complete once, none is
    // waited for.
    snapshot->end_ = snapshot->time_ <= completeTime_ ? 1 : journal.tailLsn();
    return Status::ok();
}

Status SnapshotHistory::find(const journal::Journal& journal, uint64_t time, Snapshot* snapshot) {
    {
        std::lock_guard<sync::Mutex> lock(mutex_);
        const uint64_t now = platform::monotonicNanos();
        lastUseNanos_ = now;
        step(journal, now);
        if (state_ == State::kOff) {
            beginStart();
            step(journal, now);
        }
        if (state_ != State::kOn) {
            return Status::wouldBlock();
        }
        if (time != 0 && findRecent(time, snapshot)) {
            return Status::ok();
        }
        if (snapshot->end_ == 0) {
            FRESHET_RETURN_IF_ERROR(begin(journal, time, snapshot));
        }
    }
    Status status = search(journal, snapshot);
    if (status.isOk()) {
        noteFound(*snapshot);
    } else if (time == 0 && !status.isWouldBlock()) {
        snapshot->end_ = 0;  // while it waited, it became too old: begin again
        return Status::wouldBlock();
    }
    return status;
}

Status SnapshotHistory::search(const journal::Journal& journal, Snapshot* snapshot) {
    sync::Slice slice(domain_);
    SnapshotSearch search(snapshot->time_, snapshot->base_, snapshot->end_);
    switch (
        search.run(table_, floors_, times_.reader(), [&journal] { return journal.tailLsn(); })) {
        case SnapshotSearch::Result::kWait:
            return Status::wouldBlock();
        case SnapshotSearch::Result::kLost:
            return tooOld();
        case SnapshotSearch::Result::kFound:
            break;
    }
    snapshot->readTs_ = search.readTs();
    if (std::vector<uint64_t> late = search.takeLate(); !late.empty()) {
        snapshot->late_ = std::make_shared<const LateCommits>(std::move(late));
    }
    return Status::ok();
}

void SnapshotHistory::noteFound(const Snapshot& snapshot) {
    std::lock_guard<sync::Mutex> lock(mutex_);
    if (state_ != State::kOn) {
        return;
    }
    completeTime_ = std::max(completeTime_, snapshot.time_);
    recent_.push_back(snapshot);
    if (recent_.size() > kRecentMax) {
        recent_.pop_front();
    }
}

}  // namespace freshet::engine
