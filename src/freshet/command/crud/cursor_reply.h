// SPDX-License-Identifier: Apache-2.0
/// From a QueryCursor to the cursor part of a reply: the first batch, and the registration of the
/// rest; the list cursor behind listCollections and similar commands.
#pragma once

#include "freshet/command/run/invocation.h"
#include "freshet/query/cursor.h"

#include <memory>
#include <string>
#include <vector>

namespace freshet::command {

inline constexpr int64_t kFirstBatchDocuments = 101;

struct FirstBatch {
    std::string ns;
    int64_t batchSize = kFirstBatchDocuments;
    bool isSingle = false;  // the cursor ends after this batch
    bool neverTimesOut = false;
    bool isTailable = false;  // the next two as in ClientCursor
    bool awaitsData = false;
};

/// Adds {cursor: {firstBatch, id, ns}} to the reply, with the cursor's postBatchResumeToken if it
/// has one. Never waits for data.
sync::Task<Status> replyWithFirstBatch(Invocation& call,
                                       std::unique_ptr<query::QueryCursor> cursor,
                                       FirstBatch first);

/// A whole body with its envelope, {cursor: {firstBatch: [], id: 0, ns}, ok: 1}.
std::string emptyFirstBatch(const Services& services, const std::string& ns);

/// Adds {cursor: {nextBatch, id, ns}}, likewise. `batchSize` 0: as many as fit. If there is
/// nothing, it waits for data until `untilNanos` (platform::monotonicNanos(), 0: it does not wait).
sync::Task<Status> replyWithNextBatch(Invocation& call,
                                      ClientCursor cursor,
                                      int64_t batchSize,
                                      uint64_t untilNanos = 0);

/// Adds documents of an attached cursor until the batch is full or there are no more, and yields
/// meanwhile. Not for tailable cursors.
sync::Task<Status> fillBatch(Invocation& call, query::QueryCursor& cursor, query::Batch* batch);
/// The same with a snapshot of its own, for reads that do not count as the command's work.
sync::Task<Status> readOnce(Invocation& call, query::QueryCursor& cursor, query::Batch* batch);

/// The batchSize in `cursor: {batchSize: n}`; `fallback` when it is absent.
StatusOr<int64_t> batchSizeOf(const Invocation& call, int64_t fallback = kFirstBatchDocuments);

/// A cursor over documents made beforehand.
std::unique_ptr<query::QueryCursor> makeListCursor(std::vector<bson::OwnedDocument> documents);

}  // namespace freshet::command
