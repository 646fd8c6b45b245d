// SPDX-License-Identifier: Apache-2.0
/// PointReader: reads documents of one collection by _id, one after another, without a request, a
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
    /// REQUIRES: `collection` is not null.
    PointReader(engine::Store& store, catalog::CollectionRef collection)
        : store_(store), collection_(std::move(collection)) {}

    /// Whether {_id: id} matches the document with exactly this _id and no other: an object may
    /// contain operators, and null also matches a document without an _id.
    static bool isPlain(const bson::Element& id);

    /// Appends the document's current bytes, or gives a share of them if it is large. kNotFound;
    /// kWouldBlock: it cannot be read without waiting; kCancelled (kQueryPlanKilled): the
    /// collection was dropped. REQUIRES: isPlain(id).
    Status read(const bson::Element& id, std::string* out, engine::ValueShare* share);
    /// Adds to `ahead` what the next read, of `id`, will look at. False: no room left. REQUIRES:
    /// `this` lives until ahead->run().
    bool lookAhead(const bson::Element& id, ReadAhead* ahead);
    /// The work of one read; `found`: it found a document.
    WorkDone work(bool found) const;

private:
    engine::Store& store_;
    const catalog::CollectionRef collection_;
    std::string key_;    // buffer for the key of an _id
    DocumentHint hint_;  // of the key last passed to lookAhead()
};

}  // namespace freshet::query
