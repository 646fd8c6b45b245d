// SPDX-License-Identifier: Apache-2.0
/// The shortest way from a request to a document: find({_id: value}) and nothing else, without
/// compiling a filter or planning. Most requests are of this kind.
#pragma once

#include "freshet/query/cursor.h"
#include "freshet/query/read_ahead.h"

namespace freshet::query {

/// Whether IdCursor can answer `request`.
bool asksForOneId(const FindRequest& request);

/// Reads the document whose _id has this key form. kNotFound, kWouldBlock; kCancelled
/// (kQueryPlanKilled) when the collection was dropped. REQUIRES: a slice.
Status readById(engine::Txn& txn,
                const catalog::Collection& collection,
                ByteView key,
                engine::SharedRead* document,
                const DocumentHint& hint = {});
/// The work of readById(), whether or not it found a document.
WorkDone workOfIdRead(const catalog::Collection& collection, bool found);

/// REQUIRES: asksForOneId(request); `collection` is not null.
std::unique_ptr<QueryCursor> makeIdCursor(const WorkUnit& unit,
                                          catalog::CollectionRef collection,
                                          const FindRequest& request);

}  // namespace freshet::query
