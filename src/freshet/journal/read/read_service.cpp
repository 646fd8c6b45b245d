// SPDX-License-Identifier: Apache-2.0
#include "freshet/journal/read/read_service.h"

#include <algorithm>
#include <mutex>
#include <utility>

namespace freshet::journal {
namespace {

constexpr uint64_t kUntilSignalledMs = 3'600'000;  // an hour: whatever there is to do signals

Lsn endOf(const LogBlock& block) {
    return slotStart(block.header.slotNo + 1);
}

}  // namespace

ReadService::ReadService(Journal::Impl& journal)
    : journal_(journal),
      tailBytesMax_(kReadLaps * journal.options.slots * journal.options.slotBytes),
      walk_(journal.options, journal.recycler->pins()) {
    waiter_.event = &wake_;
    waiter_.wake = [](sync::Waiter* self) { static_cast<Wake*>(self)->event->signal(); };
}

void ReadService::attach() {
    std::lock_guard<sync::Mutex> lock(mutex_);
    if (++readers_ == 1) {
        journal_.feed.turn(true);
    }
    if (!thread_.joinable() && !isStopped_) {
        thread_ = platform::Thread("journal-read", [this] { run(); });
    }
}

void ReadService::detach(const void* reader) {
    std::lock_guard<sync::Mutex> lock(mutex_);
    std::erase_if(waiting_, [reader](const Waiting& one) { return one.reader == reader; });
    if (--readers_ == 0) {
        journal_.feed.turn(false);
        wake_.signal();  // to free its memory
    }
}

LogBlockRef ReadService::blockAfter(uint64_t slotNo) {
    std::lock_guard<sync::Mutex> lock(mutex_);
    auto found = std::lower_bound(tail_.begin(), tail_.end(), slotNo, [](auto& block, uint64_t no) {
        return block->header.prevSlotNo < no;
    });
    return found != tail_.end() && (*found)->header.prevSlotNo == slotNo ? *found : nullptr;
}

LogBlockRef ReadService::blockAt(Lsn lsn) {
    std::lock_guard<sync::Mutex> lock(mutex_);
    if (tail_.empty() || slotStart(tail_.front()->header.prevSlotNo + 1) > lsn) {
        return nullptr;
    }
    auto found = std::upper_bound(
        tail_.begin(), tail_.end(), lsn, [](Lsn at, auto& block) { return at < endOf(*block); });
    return found != tail_.end() ? *found : nullptr;
}

void ReadService::post(std::shared_ptr<ReadRequest> request) {
    std::lock_guard<sync::Mutex> lock(mutex_);
    if (isStopped_) {
        request->status = Status(Code::kUnavailable, "the journal is closed");
        request->isDone = true;
        request->token.complete();
        return;
    }
    requests_.push_back(std::move(request));
    wake_.signal();
}

bool ReadService::isDone(const ReadRequest& request) {
    std::lock_guard<sync::Mutex> lock(mutex_);
    return request.isDone;
}

sync::WaitToken ReadService::awaitDurable(Lsn end, const void* reader) {
    std::lock_guard<sync::Mutex> lock(mutex_);
    // [journal.reached] acquire: pairs with [journal.durable].
    if (isStopped_ || isEnding() || journal_.durableLsn.load(sync::kAcquire) > end) {
        return sync::WaitToken::completed();
    }
    waiting_.push_back({end, reader, sync::WaitToken::create()});
    // [journal.readersWait] relaxed: an append that misses it is flushed as if nobody waited.
    journal_.readersWait.store(true, sync::kRelaxed);
    if (journal_.ring.tail() > end) {
        journal_.nudgeHelper();
    }
    if (!isListening()) {
        wake_.signal();
    }
    return waiting_.back().token;
}

void ReadService::run() {
    // [readService.stopping] acquire: pairs with its store in stop().
    while (!stopping_.load(sync::kAcquire)) {
        refresh();
        if (!serveOne()) {
            walk_.rest();
            wake_.wait(kUntilSignalledMs);
        }
    }
}

void ReadService::refresh() {
    const Lsn durable = journal_.durableLsn.load(sync::kAcquire);  // [journal.reached]
    takeFromFeed(durable);
    for (const sync::WaitToken& token : takeReached(durable)) {
        token.complete();
    }
    listen(durable);
}

void ReadService::takeFromFeed(Lsn durable) {
    for (LogBlockRef& block : journal_.feed.take()) {
        if (writtenBytes_ + block->bytes.size() <= tailBytesMax_) {
            writtenBytes_ += block->bytes.size();
            written_.push_back(std::move(block));
        }
    }
    std::lock_guard<sync::Mutex> lock(mutex_);
    for (; !written_.empty() && endOf(*written_.front()) <= durable; written_.pop_front()) {
        writtenBytes_ -= written_.front()->bytes.size();
        keep(std::move(written_.front()));
    }
    if (readers_ == waiting_.size()) {
        walk_.forget();
    }
    if (readers_ == 0) {
        written_.clear();
        tail_.clear();
        writtenBytes_ = tailBytes_ = 0;
    }
}

void ReadService::keep(LogBlockRef block) {
    if (!tail_.empty() && tail_.back()->header.slotNo != block->header.prevSlotNo) {
        tail_.clear();  // some were left out
        tailBytes_ = 0;
    }
    tailBytes_ += block->bytes.size();
    tail_.push_back(std::move(block));
    for (; tailBytes_ > tailBytesMax_; tail_.pop_front()) {
        tailBytes_ -= tail_.front()->bytes.size();
    }
}

std::vector<sync::WaitToken> ReadService::takeReached(Lsn durable) {
    std::vector<sync::WaitToken> reached;
    std::lock_guard<sync::Mutex> lock(mutex_);
    const Lsn limit = isEnding() ? UINT64_MAX : durable;
    std::erase_if(waiting_, [&](const Waiting& one) {
        if (one.end < limit) {
            reached.push_back(one.token);
        }
        return one.end < limit;
    });
    if (waiting_.empty()) {
        journal_.readersWait.store(false, sync::kRelaxed);  // [journal.readersWait]
    }
    return reached;
}

void ReadService::listen(Lsn durable) {
    std::lock_guard<sync::Mutex> lock(mutex_);
    if (waiting_.empty() || isListening()) {
        return;
    }
    listening_ = journal_.syncWaiters.add(durable + 1);
    // After adding: see the head of slot/wait_list.h. [journal.reached] acquire as above.
    if (!listening_.arm(&waiter_) || isEnding() ||
        journal_.durableLsn.load(sync::kAcquire) > durable) {
        wake_.signal();
    }
}

bool ReadService::serveFromMemory(ReadStep& step) {
    using What = ReadStep::What;
    LogBlockRef block = step.what == What::kRead      ? blockAfter(step.place.last.slotNo)
                        : step.what == What::kFindLsn ? blockAt(step.target)
                                                      : nullptr;
    if (block == nullptr) {
        return false;
    }
    step.place = ChainPlace::behind(*block);
    step.blocks.push_back(std::move(block));
    return true;
}

bool ReadService::serveOne() {
    std::shared_ptr<ReadRequest> request;
    {
        std::lock_guard<sync::Mutex> lock(mutex_);
        if (requests_.empty()) {
            return false;
        }
        request = std::move(requests_.front());
        requests_.pop_front();
    }
    if (request.use_count() == 1) {
        return true;  // its reader is gone
    }
    Status status = journal_.health();
    bool isDone = true;
    // [journal.reached] acquire: pairs with [journal.durable].
    const Lsn durable = journal_.durableLsn.load(sync::kAcquire);
    takeFromFeed(durable);  // what the request is for may have become durable just now
    if (status.isOk() && !serveFromMemory(request->step)) {
        auto done = walk_.run(request->step, durable);
        status = done.isOk() ? Status::ok() : done.status();
        isDone = !done.isOk() || *done;
    }
    std::lock_guard<sync::Mutex> lock(mutex_);
    if (isDone) {
        request->status = std::move(status);
        request->isDone = true;
        request->token.complete();
    } else {
        requests_.push_back(std::move(request));
    }
    return true;
}

void ReadService::stop() {
    {
        std::lock_guard<sync::Mutex> lock(mutex_);
        isStopped_ = true;
    }
    // [readService.stopping] release: pairs with its load in run().
    stopping_.store(true, sync::kRelease);
    wake_.signal();
    thread_.join();
    std::lock_guard<sync::Mutex> lock(mutex_);
    for (const std::shared_ptr<ReadRequest>& request : requests_) {
        request->status = Status(Code::kUnavailable, "the journal is closed");
        request->isDone = true;
        request->token.complete();
    }
    requests_.clear();
    for (const Waiting& one : waiting_) {
        one.token.complete();
    }
    waiting_.clear();
}

}  // namespace freshet::journal
