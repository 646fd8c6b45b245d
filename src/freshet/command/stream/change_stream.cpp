// SPDX-License-Identifier: Apache-2.0
#include "freshet/command/stream/change_stream.h"

#include "freshet/base/assert.h"
#include "freshet/base/free_memory.h"
#include "freshet/catalog/documents.h"
#include "freshet/command/stream/change_document.h"
#include "freshet/command/stream/log_events.h"

#include <optional>
#include <utility>

namespace freshet::command {
namespace {

using catalog::EventKind;

constexpr uint64_t kHeldBytes = 16 * 1024;  // with a block of the log, most of the time

Status historyLost() {
    return Status(Code::kInvalid,
                  Reason::kChangeStreamHistoryLost,
                  "Resume of change stream was not possible, as the resume point may no longer be "
                  "in the oplog.");
}

Status imageMissing(const std::string& image, const std::string& of) {
    return Status(Code::kInvalid,
                  Reason::kNoMatchingDocument,
                  "Change stream was configured to require a " + image + " for all " + of +
                      " events, but the " + image + " was not found for event");
}

class ChangeStream final : public query::TailSource {
public:
    ChangeStream(catalog::Catalog& catalog,
                 ChangeHub& hub,
                 WatchedPlace place,
                 ChangeOptions options,
                 std::optional<EventKey> key,
                 std::unique_ptr<LogEvents> events)
        : catalog_(catalog),
          hub_(hub),
          options_(std::move(options)),
          watch_(std::move(place), options_, std::move(key)),
          events_(std::move(events)) {
        last_.timestamp = options_.startAtOperationTime.value_or(catalog_.store().journal().now());
        last_.lsn = events_->position();
        last_.isHighWaterMark = true;
        if (options_.after.has_value()) {
            last_ = *options_.after;
        }
    }

    Status next(bson::Document* document) override {
        if (isAtEvent_ && event_ != nullptr) {
            return giveInvalidate(document);
        }
        freeMemory(&document_);
        if (event_ == nullptr) {
            FRESHET_RETURN_IF_ERROR(nextEvent());
        }
        FRESHET_RETURN_IF_ERROR(findImages());
        return give(document);
    }

    const sync::WaitToken& token() const override {
        if (lookup_.has_value()) {
            return lookup_->token();
        }
        return listener_ != nullptr ? listener_->token() : wait_;
    }
    bool isDry() const override { return isDry_; }
    bool isOver() const override { return isOver_; }

    bson::OwnedDocument resumeToken() const override {
        ResumeToken token = last_;
        if (!isAtEvent_ && !isOver_ && !events_->isInCommit()) {
            const ChangeHub::Place place = placeReached();
            if (place.position > last_.lsn) {  // nothing was of interest since
                token = ResumeToken();
                token.timestamp = std::max(last_.timestamp, place.timestamp);
                token.lsn = place.position;
                token.isHighWaterMark = true;
            }
        }
        return toDocument(token);
    }
    bson::OwnedDocument tokenOfPart(int32_t number) const override {
        ResumeToken token = last_;
        token.part = number;
        return toDocument(token);
    }
    uint64_t heldBytes() const override { return kHeldBytes + document_.bytes().size(); }

private:
    /// Sets event_ to the next one to show.
    Status nextEvent() {
        isAtEvent_ = false;
        isDry_ = false;
        FRESHET_RETURN_IF_ERROR(leaveHub());
        for (;;) {
            const CommittedEvent* found = nullptr;
            Status status = events_->next(&found);
            if (status.code() == Code::kNotFound) {
                return historyLost();
            }
            if (status.isWouldBlock()) {
                awaitEvents();
            }
            FRESHET_RETURN_IF_ERROR(status);
            if (!isBeforeStart(*found) && watch_.shows(found->event)) {
                event_ = found;
                return Status::ok();
            }
        }
    }

    /// Behind everything that was looked at, by the hub as well.
    ChangeHub::Place placeReached() const {
        return listener_ != nullptr ? listener_->clean()
                                    : ChangeHub::Place{events_->position(), events_->timestamp()};
    }
    /// After a wait.
    Status leaveHub() {
        if (listener_ == nullptr) {
            return Status::ok();
        }
        const ChangeHub::Place place = placeReached();
        listener_.reset();
        const Status status = events_->skipTo(place.position, place.timestamp);
        return status.code() == Code::kNotFound ? historyLost() : status;
    }
    /// After WouldBlock: sets what to wait for.
    void awaitEvents() {
        wait_ = events_->token();
        isDry_ = events_->isDry();
        if (!isDry_ || events_->isInCommit() || events_->isInChain()) {
            return;
        }
        seat_ = seat_ == nullptr ? hub_.takeSeat() : std::move(seat_);
        if (seat_ != nullptr) {
            return;
        }
        listener_ = hub_.listen(watch_, placeReached());
        if (listener_ == nullptr) {  // there is more already
            wait_ = sync::WaitToken::completed();
            isDry_ = false;
        }
    }

    /// The client has it already.
    bool isBeforeStart(const CommittedEvent& event) const {
        const auto& resume = options_.after;
        if (!resume.has_value() || resume->isHighWaterMark || event.lsn != resume->lsn) {
            return false;
        }
        return resume->part < 0 ? event.number <= resume->number : event.number < resume->number;
    }

    /// The documents before and after the change, as far as they are shown.
    Status findImages() {
        const EventKind kind = event_->event.kind;
        if (!catalog::isOfDocument(kind) || kind == EventKind::kInsert) {
            return Status::ok();
        }
        if (kind == EventKind::kUpdate) {
            FRESHET_RETURN_IF_ERROR(findAfter());
        }
        if (event_->event.hasBefore()) {
            FRESHET_ASSIGN_OR_RETURN(before_, catalog::beforeOf(event_->event, event_->after));
        }
        return findBefore();
    }

    Status findBefore() {
        const FullDocumentBeforeChange wanted = options_.fullDocumentBeforeChange;
        if (wanted == FullDocumentBeforeChange::kOff) {
            return Status::ok();
        }
        const catalog::Event& event = event_->event;
        if (!event.keepsImages) {
            parts_.fullDocumentBeforeChange.kind = Image::Kind::kNull;
            return wanted == FullDocumentBeforeChange::kRequired
                       ? imageMissing("pre-image", "update, delete and replace")
                       : Status::ok();
        }
        parts_.fullDocumentBeforeChange = {
            Image::Kind::kGiven,
            event.kind == EventKind::kDelete ? event.document : before_.view()};
        return Status::ok();
    }

    Status findAfter() {
        if (options_.fullDocument == FullDocument::kDefault) {
            return Status::ok();
        }
        if (options_.fullDocument == FullDocument::kUpdateLookup) {
            return lookUp();
        }
        const bool isKept = event_->event.keepsImages;
        parts_.fullDocument = {isKept ? Image::Kind::kGiven : Image::Kind::kNull, event_->after};
        return !isKept && options_.fullDocument == FullDocument::kRequired
                   ? imageMissing("post-image", "update")
                   : Status::ok();
    }

    /// The document as it is now; none if it is gone.
    Status lookUp() {
        const catalog::Event& event = event_->event;
        parts_.fullDocument.kind = Image::Kind::kNull;
        const catalog::CollectionRef collection = catalog_.find(event.db, event.collection);
        const bool isOther = collection != nullptr && options_.matchCollectionUuidForUpdateLookup &&
                             collection->uuid != event.uuid;
        if (collection == nullptr || isOther) {
            return Status::ok();
        }
        sync::Slice slice(catalog_.store().epochs());
        if (!lookup_.has_value()) {
            lookup_.emplace(catalog_.store());
        }
        catalog::RecordId id = 0;
        Status status =
            catalog::readDocumentById(*lookup_, *collection, event_->after, &id, &found_);
        if (status.isWouldBlock()) {
            return status;
        }
        lookup_.reset();
        if (status.isOk()) {
            parts_.fullDocument = {Image::Kind::kGiven, bson::Document(found_)};
        }
        return status.code() == Code::kNotFound ? Status::ok() : status;
    }

    Status give(bson::Document* document) {
        last_ = ResumeToken();
        last_.timestamp = event_->timestamp;
        last_.lsn = event_->lsn;
        last_.number = event_->number;
        isAtEvent_ = true;
        const bson::OwnedDocument token = toDocument(last_);
        parts_.token = token.view();
        parts_.before = before_.view();
        document_ = changeDocument(*event_, options_, std::exchange(parts_, {}));
        if (!watch_.endsWith(event_->event)) {
            event_ = nullptr;
        }
        *document = document_.view();
        return Status::ok();
    }

    Status giveInvalidate(bson::Document* document) {
        last_.isInvalidate = true;
        const bson::OwnedDocument token = toDocument(last_);
        document_ = invalidateDocument(*std::exchange(event_, nullptr), token.view());
        isOver_ = true;
        *document = document_.view();
        return Status::ok();
    }

    catalog::Catalog& catalog_;
    ChangeHub& hub_;
    const ChangeOptions options_;
    const Watch watch_;
    const std::unique_ptr<LogEvents> events_;
    // How it waits for more: with a seat for wait_, else as a listener.
    std::unique_ptr<ChangeHub::Seat> seat_;
    std::unique_ptr<ChangeHub::Listener> listener_;
    sync::WaitToken wait_ = sync::WaitToken::completed();
    bool isDry_ = false;
    /// Found and not given yet; or given, and the stream ends with it.
    const CommittedEvent* event_ = nullptr;
    ChangeParts parts_;  // of event_, as far as they have been found; in:
    bson::OwnedDocument before_;
    std::string found_;
    std::optional<engine::Txn> lookup_;  // a look-up is waiting
    bson::OwnedDocument document_;       // given last
    ResumeToken last_;                   // of the event given last, or where the stream began
    bool isAtEvent_ = false;             // next() has given it just now
    bool isOver_ = false;
};

/// Where reading begins.
StatusOr<journal::ReadFrom> placeOf(journal::Journal& journal, const ChangeOptions& options) {
    journal::ReadFrom from;
    if (options.after.has_value() && options.after->lsn != 0) {
        from.lsn = options.after->lsn;
        if (from.lsn > journal.tailLsn()) {
            return historyLost();  // of another history
        }
    } else if (options.after.has_value()) {
        from.timestamp = options.after->timestamp;
    } else if (options.startAtOperationTime.has_value()) {
        from.timestamp = *options.startAtOperationTime;
    } else {
        from.lsn = journal.tailLsn();
    }
    return from;
}

}  // namespace

StatusOr<std::unique_ptr<query::TailSource>> openChangeStream(catalog::Catalog& catalog,
                                                              ChangeHub& hub,
                                                              WatchedPlace place,
                                                              ChangeOptions options,
                                                              std::optional<EventKey> key) {
    journal::Journal& journal = catalog.store().journal();
    FRESHET_ASSIGN_OR_RETURN(const journal::ReadFrom from, placeOf(journal, options));
    auto events = LogEvents::open(journal, from);
    if (events.status().code() == Code::kNotFound) {
        return historyLost();
    }
    FRESHET_RETURN_IF_ERROR(events.status());
    return std::unique_ptr<query::TailSource>(std::make_unique<ChangeStream>(
        catalog, hub, std::move(place), std::move(options), std::move(key), std::move(*events)));
}

}  // namespace freshet::command
