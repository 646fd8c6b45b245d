// SPDX-License-Identifier: Apache-2.0
/// Moments of the past from which the history can be read, and how many of them it keeps. Not
/// shared between threads.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>

namespace freshet::engine {

struct HistoryMark {
    uint64_t nanos = 0;  // when it was made
    uint64_t ts = 0;     // the clock then
    /// Commits up to `ts` have times up to this one.
    uint64_t time = 0;
    uint64_t bytes = 0;  // written to the journal by then
};

/// How much history is kept, at most.
struct HistoryBounds {
    uint64_t nanos = 0;
    uint64_t bytes = 0;    // of what was written meanwhile
    uint64_t commits = 0;  // meanwhile
};

class HistoryMarks {
public:
    /// Whether it is time for another mark; `now`: it, if it were made.
    bool wants(const HistoryMark& now, const HistoryBounds& bounds) const {
        if (marks_.empty()) {
            return true;
        }
        const HistoryMark& last = marks_.back();
        return now.ts != last.ts && (now.nanos - last.nanos >= stepNanos(bounds) ||
                                     costs(last, now) >= bounds.bytes / kMarksPerBound ||
                                     now.ts - last.ts >= bounds.commits / kMarksPerBound);
    }
    void add(const HistoryMark& now) { marks_.push_back(now); }
    /// Drops the oldest marks that the bounds do not allow; the newest one stays.
    void drop(const HistoryMark& now, const HistoryBounds& bounds) {
        while (marks_.size() > 1 && isTooOld(now, bounds)) {
            marks_.pop_front();
        }
    }
    /// Drops the older half, but not the newest mark. False: there is only one.
    bool dropHalf() {
        const size_t half = marks_.size() / 2;
        marks_.erase(marks_.begin(), marks_.begin() + static_cast<std::ptrdiff_t>(half));
        return half != 0;
    }
    void clear() { marks_.clear(); }
    /// The history begins here. REQUIRES: there are marks.
    const HistoryMark& oldest() const { return marks_.front(); }
    bool isEmpty() const { return marks_.empty(); }
    size_t size() const { return marks_.size(); }
    /// The newest mark from which that time can be found; null: it is before the history.
    const HistoryMark* before(uint64_t time) const {
        const auto later = std::upper_bound(
            marks_.begin(), marks_.end(), time, [](uint64_t sought, const HistoryMark& mark) {
                return sought < mark.time;
            });
        return later == marks_.begin() ? nullptr : &*(later - 1);
    }

private:
    /// By time there are so many marks at most; in addition by amount.
    static constexpr uint64_t kMarksByTime = 512;
    static constexpr uint64_t kMarksPerBound = 64;
    static constexpr uint64_t kStepNanosMin = 1'000'000'000;
    /// What a commit costs besides what it writes: a version, and its time.
    static constexpr uint64_t kCommitBytes = 128;

    static uint64_t stepNanos(const HistoryBounds& bounds) {
        return std::max(kStepNanosMin, bounds.nanos / kMarksByTime);
    }
    static uint64_t costs(const HistoryMark& from, const HistoryMark& to) {
        return to.bytes - from.bytes + (to.ts - from.ts) * kCommitBytes;
    }
    bool isTooOld(const HistoryMark& now, const HistoryBounds& bounds) const {
        // The newest mark that is old enough stays, so that no less than the window is kept.
        return now.nanos - marks_[1].nanos >= bounds.nanos ||
               costs(marks_[0], now) > bounds.bytes || now.ts - marks_[0].ts > bounds.commits;
    }

    std::deque<HistoryMark> marks_;
};

}  // namespace freshet::engine
