// SPDX-License-Identifier: Apache-2.0
/// LastRecords: finds where the record ids of collections read from disk continue. Their last
/// records may have to be read from disk, so many are requested at a time. One thread, outside any
/// slice.
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
    Status find(const std::shared_ptr<const Collection>& collection) {
        auto cursor = std::make_unique<engine::Cursor>(txn_, collection->records);
        const Status status = cursor->last();
        if (!status.isWouldBlock()) {
            FRESHET_RETURN_IF_ERROR(status);
            goOnBehind(*cursor, *collection);
            return Status::ok();
        }
        wanted_.push_back({collection, std::move(cursor)});
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
        FRESHET_RETURN_IF_ERROR(untilDone(txn_, [&] { return first.cursor->last(); }));
        goOnBehind(*first.cursor, *first.collection);
        return Status::ok();
    }
    static void goOnBehind(const engine::Cursor& last, const Collection& collection) {
        const RecordId next = last.valid() ? recordIdOf(last.key()) + 1 : 1;
        // Relaxed: no other thread knows the collection yet.
        collection.nextRecordId->store(next, sync::kRelaxed);
    }

    engine::Txn txn_;
    std::deque<Wanted> wanted_;
};

}  // namespace freshet::catalog
