// SPDX-License-Identifier: Apache-2.0
/// The shortest way from a request to a document: find({_id: value}) and nothing else. No filter is
/// compiled, nothing planned: most requests that servers get are of this kind.
#pragma once

#include "freshet/query/cursor.h"
#include "freshet/query/read_ahead.h"

namespace freshet::query {

/// Whether IdCursor gives what `request` asks for.
bool asksForOneId(const FindRequest& request);

/// The document whose _id has this key form. kNotFound, kWouldBlock; kCancelled (kQueryPlanKilled)
/// when the collection is gone. REQUIRES: a slice.
Status readById(engine::Txn& txn,
                const catalog::Collection& collection,
                ByteView key,
                engine::SharedRead* document,
                const DocumentHint& hint = {});
/// What readById() has done when it found, or did not find, a document.
WorkDone workOfIdRead(const catalog::Collection& collection, bool found);

/// REQUIRES: asksForOneId(request); a collection.
std::unique_ptr<QueryCursor> makeIdCursor(engine::Store& store,
                                          catalog::CollectionRef collection,
                                          const FindRequest& request);

}  // namespace freshet::query
