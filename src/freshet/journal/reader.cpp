// SPDX-License-Identifier: Apache-2.0
#include "freshet/journal/reader.h"

#include "freshet/journal/file/impl.h"
#include "freshet/journal/read/read_service.h"
#include "freshet/journal/scan/record_joiner.h"

#include <algorithm>
#include <deque>
#include <utility>

namespace freshet::journal {

struct Reader::Impl {
    Impl(Journal::Impl& given, const ReadFrom& from)
        : journal(given), service(*given.readers), types(from.types) {
        const Lsn tail = given.ring.tail();
        // Every record below `tail` has a Timestamp below now().
        if (from.timestamp != 0 && from.timestamp >= given.ring.now()) {
            lsn = findAt = tail;
        } else if (from.timestamp != 0) {
            find = ReadStep::What::kFindTime;
            findAt = from.timestamp;
        } else {
            lsn = findAt = from.lsn;
        }
        timestamp = from.timestamp;
        isFromOldest = lsn == 0 && timestamp == 0;
        service.attach();
    }
    ~Impl() { service.detach(this); }

    Status next(RecordView* record);
    bool takeRecord(RecordView* record);
    /// Ok: `block` is the next one.
    Status moreBlocks();
    Status takeAnswer();
    void take(LogBlockRef next);
    LogBlockRef fromMemory();
    void postRequest();
    bool wants(Lsn at, uint64_t time, uint8_t type) const {
        return at >= lsn && time >= timestamp && (types >> type & 1) != 0;
    }
    /// The record that ends at `end` began at `first`, in front of where reading began.
    void goBack(Lsn first, Lsn end);
    Lsn position() const;

    Journal::Impl& journal;
    ReadService& service;
    const uint32_t types;
    Lsn lsn = 0;             // records below have been returned, or are not wanted
    uint64_t timestamp = 0;  // the same
    bool isFromOldest = false;
    // Where to begin, until hasPlace:
    ReadStep::What find = ReadStep::What::kFindLsn;
    uint64_t findAt = 0;

    bool hasPlace = false;
    ChainPlace place;  // behind `block` and `ahead`
    std::deque<LogBlockRef> ahead;
    LogBlockRef block;  // null: none
    uint32_t at = 0;    // of the next record in it
    RecordJoiner joiner;

    std::shared_ptr<ReadRequest> request;  // null: none
    sync::WaitToken token;
    sync::WaitToken waiting;  // for more to be durable
    Status end;               // final
};

Status Reader::Impl::next(RecordView* record) {
    FRESHET_RETURN_IF_ERROR(end);
    FRESHET_RETURN_IF_ERROR(journal.health());
    while (!takeRecord(record)) {
        Status more = moreBlocks();
        if (!more.isOk()) {
            end = more.isWouldBlock() ? Status::ok() : more;
            return more;
        }
    }
    return Status::ok();
}

bool Reader::Impl::takeRecord(RecordView* record) {
    while (block != nullptr && at < block->header.fill) {
        const RecordPart part = recordAt(block->bytes, at, &at);
        const Lsn lsnHere = lsnAt(block->header.slotNo, part.offset / kUnitBytes);
        const uint64_t time = block->header.timeBase + part.offset / kUnitBytes;
        const bool isWanted = wants(lsnHere, time, part.header.type);
        switch (joiner.add(block->header, part, record)) {
            case RecordJoiner::Result::kWhole:
                if (isWanted) {
                    lsn = lsnHere + 1;
                    return true;
                }
                break;
            case RecordJoiner::Result::kOrphan:
                if (isWanted && !isFromOldest) {
                    goBack(part.header.recId, lsnHere);
                }
                break;
            case RecordJoiner::Result::kNothing:
                break;
        }
    }
    return false;
}

void Reader::Impl::goBack(Lsn first, Lsn end) {
    lsn = end;
    find = ReadStep::What::kFindLsn;
    findAt = first;
    hasPlace = false;
    block.reset();
    ahead.clear();
    joiner.forget();
}

void Reader::Impl::take(LogBlockRef next) {
    block = std::move(next);
    at = sizeof(BlockHeader);
}

LogBlockRef Reader::Impl::fromMemory() {
    LogBlockRef found;
    if (hasPlace) {
        found = service.blockAfter(place.last.slotNo);
    } else if (find == ReadStep::What::kFindLsn) {
        found = service.blockAt(findAt);
    }
    if (found != nullptr) {
        place = ChainPlace::behind(*found);
        hasPlace = true;
    }
    return found;
}

void Reader::Impl::postRequest() {
    request = std::make_shared<ReadRequest>();
    request->step.what = hasPlace ? ReadStep::What::kRead : find;
    request->step.target = findAt;
    request->step.place = place;
    token = request->token;
    service.post(request);
}

Status Reader::Impl::takeAnswer() {
    if (!service.isDone(*request)) {
        return Status::wouldBlock();
    }
    const std::shared_ptr<ReadRequest> done = std::exchange(request, nullptr);
    FRESHET_RETURN_IF_ERROR(done->status);
    place = done->step.place;
    hasPlace = true;
    ahead.assign(done->step.blocks.begin(), done->step.blocks.end());
    return Status::ok();
}

Status Reader::Impl::moreBlocks() {
    block.reset();
    if (request != nullptr) {
        FRESHET_RETURN_IF_ERROR(takeAnswer());
    }
    if (!ahead.empty()) {
        take(std::move(ahead.front()));
        ahead.pop_front();
        return Status::ok();
    }
    // A timestamp's place may be anywhere.
    const bool isByTime = !hasPlace && find == ReadStep::What::kFindTime;
    const Lsn behind = hasPlace ? place.end() : isByTime ? 0 : findAt;
    // [journal.reached] acquire: pairs with [journal.durable].
    if (behind >= journal.durableLsn.load(sync::kAcquire)) {
        if (!waiting.isSet() || waiting.isDone()) {
            waiting = service.awaitDurable(behind, this);
        }
        token = waiting;
        return Status::wouldBlock();
    }
    if (LogBlockRef found = fromMemory()) {
        take(std::move(found));
        return Status::ok();
    }
    postRequest();
    return Status::wouldBlock();
}

Lsn Reader::Impl::position() const {
    if (block != nullptr) {
        return std::max(lsn, slotStart(block->header.slotNo) + at);
    }
    if (!ahead.empty()) {
        return std::max(lsn, slotStart(ahead.front()->header.prevSlotNo + 1));
    }
    return hasPlace ? std::max(lsn, place.end()) : lsn;
}

StatusOr<std::unique_ptr<Reader>> Reader::open(Journal& journal, const ReadFrom& from) {
    Journal::Impl& impl = *journal.impl_;
    FRESHET_RETURN_IF_ERROR(impl.health());
    if (from.timestamp == 0 && from.lsn != 0 && from.lsn < impl.recycler->pins().recycledTo()) {
        return Status(
            Code::kNotFound,
            "the journal's history is lost: it begins behind " + std::to_string(from.lsn));
    }
    return std::unique_ptr<Reader>(new Reader(std::make_unique<Impl>(impl, from)));
}

Reader::Reader(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Reader::~Reader() = default;

Status Reader::next(RecordView* record) {
    return impl_->next(record);
}

const sync::WaitToken& Reader::token() const {
    return impl_->token;
}

Lsn Reader::position() const {
    return impl_->position();
}

Lsn Reader::neededFrom() const {
    const bool isAfterLsn = !impl_->hasPlace && impl_->find == ReadStep::What::kFindLsn;
    return std::min(
        {impl_->position(), impl_->joiner.oldestBegun(), isAfterLsn ? impl_->findAt : UINT64_MAX});
}

Pin::Pin(Journal& journal, Lsn position)
    : journal_(journal), state_(journal.impl_->recycler->pins().add(position)) {}

Pin::~Pin() {
    journal_.impl_->recycler->pins().remove(state_);
}

void Pin::moveTo(Lsn position) {
    if (position > state_->position.load(sync::kRelaxed)) {  // [pin.position]
        state_->position.store(position, sync::kRelaxed);
    }
}

bool Pin::isVoid() const {
    return state_->isVoid.load(sync::kRelaxed);  // [pin.void]
}

}  // namespace freshet::journal
