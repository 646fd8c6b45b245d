// SPDX-License-Identifier: Apache-2.0
#include "freshet/command/oplog/oplog_source.h"

#include "freshet/command/oplog/entry_reader.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace freshet::command {
namespace {

constexpr int kSlotBits = 24;  // see journal::Lsn

/// 0: not an entry.
uint64_t timeOf(const bson::OwnedDocument& entry) {
    const bson::Element time = entry.view().find("ts");
    return time.isMissing() ? 0 : time.timestampValue();
}

Status positionLost(uint64_t lastTime) {
    return invalid(Reason::kCappedPositionLost,
                   "CollectionScan died due to position in capped collection being deleted. Last "
                   "seen record id: RecordId(" +
                       std::to_string(lastTime) + ")");
}

/// What the two directions share. It is over when it says so, or at the end of the range.
class OplogSource : public query::TailSource {
public:
    OplogSource(journal::Journal& journal, const OplogRange& range)
        : reader_(journal), range_(range), isOver_(range.isEmpty()) {}

    const sync::WaitToken& token() const override { return token_; }
    bool isDry() const override { return isDry_; }
    bool isOver() const override { return isOver_; }

protected:
    /// The reader has returned WouldBlock, or others shall run.
    Status wait(const sync::WaitToken& token, bool isDry) {
        token_ = token;
        isDry_ = isDry;
        return Status::wouldBlock();
    }
    /// There is nothing more; the caller sees isOver() when it calls again.
    Status end() {
        isOver_ = true;
        return wait(sync::WaitToken::completed(), false);
    }

    EntryReader reader_;
    const OplogRange range_;

private:
    bool isOver_;
    bool isDry_ = false;
    sync::WaitToken token_ = sync::WaitToken::completed();
};

class OplogForward final : public OplogSource {
public:
    OplogForward(journal::Journal& journal, const OplogRange& range, bool follows)
        : OplogSource(journal, range),
          end_(follows ? std::numeric_limits<journal::Lsn>::max() : journal.durableLsn()) {
        reader_.openOldest(range.from);
    }

    Status next(bson::Document* document) override {
        for (;;) {
            bool isAtEnd = false;
            const Status status = reader_.next(end_, &entry_, &isAtEnd);
            if (status.code() == Code::kNotFound) {
                FRESHET_RETURN_IF_ERROR(beginAtOldest());
                continue;
            }
            if (status.isWouldBlock()) {
                return wait(reader_.token(), reader_.isDry());
            }
            FRESHET_RETURN_IF_ERROR(status);
            if (isAtEnd || timeOf(entry_) > range_.to) {
                return end();
            }
            if (timeOf(entry_) >= range_.from) {
                lastTime_ = timeOf(entry_);
                *document = entry_.view();
                return Status::ok();
            }
        }
    }
    uint64_t heldBytes() const override { return entry_.bytes().size() + reader_.heldBytes(); }

private:
    /// The log does not reach back to where it was to begin: what is there, is given. But nothing
    /// may be missing behind an entry that was given.
    Status beginAtOldest() {
        if (lastTime_ == 0 && !reader_.isFromOldest()) {
            reader_.openOldest();
            return Status::ok();
        }
        return positionLost(lastTime_);
    }

    const journal::Lsn end_;
    bson::OwnedDocument entry_;
    uint64_t lastTime_ = 0;  // 0: nothing was given
};

/// The log can be read forward only: it is read in windows, the last one first.
class OplogBackward final : public OplogSource {
public:
    OplogBackward(journal::Journal& journal, const OplogRange& range)
        : OplogSource(journal, range), end_(journal.durableLsn()) {}

    Status next(bson::Document* document) override {
        while (isReading_ || entries_.empty()) {
            if (!isReading_ && isAtStart_) {
                return end();
            }
            if (!isReading_) {
                startWindow();
            }
            const Status status = readWindow();
            if (status.isWouldBlock()) {
                return wait(reader_.token(), false);
            }
            FRESHET_RETURN_IF_ERROR(status);
        }
        given_ = std::move(entries_.back());
        entries_.pop_back();
        entriesBytes_ -= given_.bytes().size();
        *document = given_.view();
        return Status::ok();
    }
    uint64_t heldBytes() const override {
        return given_.bytes().size() + entriesBytes_ + reader_.heldBytes();
    }

private:
    // In slots of the log, of 256 KiB usually.
    static constexpr uint64_t kWidthMax = 8;

    void startWindow() {
        const journal::Lsn bytes = width_ << kSlotBits;
        begin_ = end_ > bytes ? end_ - bytes : 0;
        width_ = std::min(2 * width_, kWidthMax);
        isReading_ = true;
        if (begin_ > 0) {
            reader_.open({.lsn = begin_});
        } else {
            reader_.openOldest();
        }
    }
    Status readWindow() {
        for (;;) {
            bson::OwnedDocument entry;
            bool isOver = false;
            const Status status = reader_.next(end_, &entry, &isOver);
            if (status.code() == Code::kNotFound && !reader_.isFromOldest()) {
                // The log does not reach back to the beginning of this window.
                entries_.clear();
                entriesBytes_ = 0;
                reader_.openOldest();
                continue;
            }
            if (status.code() == Code::kNotFound) {
                return positionLost(timeOf(given_));
            }
            FRESHET_RETURN_IF_ERROR(status);
            if (isOver) {
                isReading_ = false;
                isAtStart_ = isAtStart_ || reader_.isFromOldest();
                // The oldest record was in a window before, and perhaps no entry by itself.
                const uint64_t oldest = reader_.takeOldestTime();
                if (oldest != 0 && (timeOf(given_) == 0 || oldest < timeOf(given_))) {
                    keep(noopEntry(oldest));
                }
                end_ = begin_;
                return Status::ok();
            }
            keep(std::move(entry));
        }
    }
    void keep(bson::OwnedDocument entry) {
        const uint64_t time = timeOf(entry);
        isAtStart_ = isAtStart_ || time < range_.from;
        if (time >= range_.from && time <= range_.to) {
            entriesBytes_ += entry.bytes().size();
            entries_.push_back(std::move(entry));
        }
    }

    journal::Lsn begin_ = 0;  // of the window that is being read, or was read last
    journal::Lsn end_;
    uint64_t width_ = 1;
    std::vector<bson::OwnedDocument> entries_;  // of the window, ascending
    uint64_t entriesBytes_ = 0;
    bson::OwnedDocument given_;
    bool isReading_ = false;
    bool isAtStart_ = false;  // there is nothing before the window
};

}  // namespace

Status noteStartInLog(journal::Journal& journal) {
    journal::AppendOp noop(journal::RecordType::kNoop, 0, {});
    for (;;) {
        const Status status = journal.append(noop);
        if (!status.isWouldBlock()) {
            return status;
        }
        sync::blockOn(noop.token());
    }
}

std::unique_ptr<query::TailSource> openOplog(journal::Journal& journal,
                                             const OplogRange& range,
                                             OplogOrder order) {
    if (order == OplogOrder::kBackward) {
        return std::make_unique<OplogBackward>(journal, range);
    }
    return std::make_unique<OplogForward>(journal, range, order == OplogOrder::kFollow);
}

}  // namespace freshet::command
