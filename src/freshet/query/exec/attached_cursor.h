// SPDX-License-Identifier: Apache-2.0
/// AttachedCursor: what the cursors of find and aggregate share: the transaction that lives from
/// attach() to detach(), and the steps of next().
#pragma once

#include "freshet/query/cursor.h"
#include "freshet/query/exec/row_stream.h"

#include <optional>

namespace freshet::query {

/// A request and what was parsed from it: about three times the size of its documents.
uint64_t heldBytesOf(const FindRequest& request);

class AttachedCursor : public QueryCursor {
public:
    void attach() final {
        if (stream_ != nullptr && !txn_.isOpen()) {
            txn_.open();
            stream_->attach(*txn_);
        }
    }
    void detach() final {
        if (txn_.isOpen()) {
            stream_->detach();
            txn_.close();
        }
    }
    Status next(Batch* batch) final {
        sync::Slice slice(unit_.store.epochs());
        if (stream_ != nullptr) {
            dcheck(txn_.isOpen());
            stream_->startTurn();
        }
        return fill(batch);
    }
    const sync::WaitToken& token() const final { return stream_->token(); }
    WorkDone work() const final { return workOf(stream_.get()); }

protected:
    /// `stream` is null when there is no collection.
    AttachedCursor(const WorkUnit& unit, std::unique_ptr<RowStream> stream)
        : unit_(unit), stream_(std::move(stream)), atEnd_(stream_ == nullptr) {}

    /// Adds documents until the batch is full or there are no more.
    virtual Status fill(Batch* batch) = 0;

    const WorkUnit unit_;
    UnitTxn txn_{unit_};  // declared first: must outlive the stream's cursors
    std::unique_ptr<RowStream> stream_;
    bool atEnd_;  // the stream has no more documents
};

}  // namespace freshet::query
