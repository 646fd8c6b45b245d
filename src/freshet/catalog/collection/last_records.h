// SPDX-License-Identifier: Apache-2.0
/// LastRecords: where collections that come from disk go on with their record ids. Their last
/// records may have to be read, so many are asked for at a time. One thread, outside every slice.
#pragma once

#include "freshet/catalog/catalog.h"
#include "freshet/catalog/collection/blocking.h"
#include "freshet/catalog/documents.h"
#include "freshet/engine/store.h"

#include <deque>
#include <memory>
#include <utility>

namespace freshet::catalog {

class LastRecords {
public:
    explicit LastRecords(engine::Store& store) : txn_(store) {}

    /// REQUIRES: no other thread knows the collection, until finish() returns.
    Status find(std::shared_ptr<const Collection> collection) {
        Wanted wanted{std::move(collection), nullptr};
        wanted.cursor = std::make_unique<engine::Cursor>(txn_, wanted.collection->records);
        if (Status status = wanted.cursor->last(); !status.isOk() && !status.isWouldBlock()) {
            return status;
        }
        wanted_.push_back(std::move(wanted));
        return wanted_.size() > kAtATime ? takeFirst() : Status::ok();
    }
    Status finish() {
        while (!wanted_.empty()) {
            FRESHET_RETURN_IF_ERROR(takeFirst());
        }
        return Status::ok();
    }

private:
    static constexpr size_t kAtATime = 64;
    struct Wanted {
        std::shared_ptr<const Collection> collection;
        std::unique_ptr<engine::Cursor> cursor;
    };

    Status takeFirst() {
        const Wanted first = std::move(wanted_.front());
        wanted_.pop_front();
        engine::Cursor& cursor = *first.cursor;
        FRESHET_RETURN_IF_ERROR(untilDone(txn_, [&] { return cursor.last(); }));
        const RecordId next = cursor.valid() ? recordIdOf(cursor.key()) + 1 : 1;
        // Relaxed: no other thread knows the collection yet.
        first.collection->nextRecordId->store(next, sync::kRelaxed);
        return Status::ok();
    }

    engine::Txn txn_;
    std::deque<Wanted> wanted_;
};

}  // namespace freshet::catalog
