// SPDX-License-Identifier: Apache-2.0
/// PointReader: documents of one collection by their _id, one after another, without a request, a
/// plan or a cursor for each. One thread at a time.
#pragma once

#include "freshet/base/status.h"
#include "freshet/bson/view.h"
#include "freshet/catalog/catalog.h"
#include "freshet/query/borrowed_documents.h"
#include "freshet/query/read_ahead.h"
#include "freshet/query/work.h"

#include <string>

namespace freshet::query {

class PointReader {
public:
    /// REQUIRES: a collection.
    PointReader(engine::Store& store, catalog::CollectionRef collection)
        : store_(store), collection_(std::move(collection)) {}

    /// Whether {_id: id} finds the document that has just this _id and no other: objects may be
    /// operators, and null finds what has none.
    static bool isPlain(const bson::Element& id);

    /// Appends the document's bytes, as they are now, or gives a share of them when it is large.
    /// kNotFound: there is none; kWouldBlock: it cannot be had without waiting; kCancelled
    /// (kQueryPlanKilled): the collection is gone. REQUIRES: isPlain(id).
    Status read(const bson::Element& id, std::string* out, engine::ValueShare* share);
    /// Adds what such a read would look at, for the read that comes next. False: there is no room
    /// for more. REQUIRES: `this` stays until the other's run().
    bool lookAhead(const bson::Element& id, ReadAhead* ahead);
    /// What a read has done that found `found` documents.
    WorkDone work(bool found) const;

private:
    engine::Store& store_;
    const catalog::CollectionRef collection_;
    std::string key_;    // room for an _id's key
    DocumentHint hint_;  // of the key last looked ahead for
};

}  // namespace freshet::query
