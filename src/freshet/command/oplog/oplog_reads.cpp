// SPDX-License-Identifier: Apache-2.0
#include "freshet/command/oplog/oplog_reads.h"

#include "freshet/bson/count.h"
#include "freshet/command/access/replica_set_member.h"
#include "freshet/command/crud/cursor_reply.h"

#include <algorithm>
#include <utility>

namespace freshet::command {
namespace {

constexpr size_t kCountedPerBatch = 1000;

/// Narrows the range by {<name>: <value>}, an operator on ts.
void narrow(std::string_view name, const bson::Element& value, OplogRange* range) {
    if (value.type() != bson::Type::kTimestamp) {
        return;
    }
    const uint64_t time = value.timestampValue();
    if (name == "$gte" || name == "$eq") {
        range->from = std::max(range->from, time);
    }
    if (name == "$gt") {
        range->from = std::max(range->from, time == UINT64_MAX ? time : time + 1);
    }
    if (name == "$lte" || name == "$eq") {
        range->to = std::min(range->to, time);
    }
    if (name == "$lt") {
        range->to = std::min(range->to, time == 0 ? 0 : time - 1);
    }
}

void narrowBy(bson::Document filter, OplogRange* range) {
    for (const bson::Element& field : filter) {
        if (field.name() == "ts" && field.isObject()) {
            for (const bson::Element& one : field.document()) {
                narrow(one.name(), one, range);
            }
        } else if (field.name() == "ts") {
            narrow("$eq", field, range);
        } else if (field.name() == "$and" && field.isArray()) {
            for (const bson::Element& part : field.document()) {
                if (part.isObject()) {
                    narrowBy(part.document(), range);
                }
            }
        }
    }
}

/// {$natural: n} or {ts: n}: n's sign; 0 for any other pattern.
int directionOf(bson::Document pattern) {
    if (pattern.isEmpty() || pattern.fieldCount() != 1) {
        return 0;
    }
    const bson::Element only = *pattern.begin();
    if ((only.name() != "$natural" && only.name() != "ts") || !only.isNumber()) {
        return 0;
    }
    const double sign = only.toDouble();
    return sign == 1 ? 1 : sign == -1 ? -1 : 0;
}

/// Takes a direction in which the oplog can be read out of sort and hint.
OplogOrder takeOrder(query::FindRequest* request, bool follows) {
    int direction = 0;
    for (bson::OwnedDocument* pattern : {&request->hint, &request->sort}) {
        if (const int its = directionOf(pattern->view()); its != 0) {
            direction = its;
            *pattern = {};
        }
    }
    if (follows && direction != -1) {
        return OplogOrder::kFollow;
    }
    return direction == -1 ? OplogOrder::kBackward : OplogOrder::kForward;
}

/// The filter of a pipeline's first stage.
bson::Document firstMatch(bson::Document pipeline) {
    if (pipeline.isEmpty() || !pipeline.begin()->isObject()) {
        return {};
    }
    const bson::Element match = pipeline.begin()->document().find("$match");
    return match.isObject() ? match.document() : bson::Document();
}

/// Everything that was acknowledged can be read then. The log itself has no snapshots.
sync::Task<Status> untilReadable(Invocation& call) {
    if (call.snapshot != nullptr) {
        co_return Status(
            Code::kConflict,
            Reason::kSnapshotUnavailable,
            "Reading from capped collections with readConcern snapshot is not supported");
    }
    journal::Journal& journal = call.services.store.journal();
    co_return co_await waitUntilDurable(journal, journal.tailLsn());
}

uint64_t oplogBytes(const Services& services) {
    return services.store.journal().stats().retainedBytes;
}

}  // namespace

bool isOplog(const Services& services, std::string_view db, std::string_view collection) {
    return db == kOplogDb && collection == kOplogCollection && isReplicaSet(services);
}

OplogRange rangeOf(bson::Document filter) {
    OplogRange range;
    narrowBy(filter, &range);
    return range;
}

StatusOr<std::unique_ptr<query::QueryCursor>> makeOplogFind(Invocation& call,
                                                            query::FindRequest request,
                                                            bool follows) {
    const OplogOrder order = takeOrder(&request, follows);
    if (follows && order == OplogOrder::kBackward) {
        return badValue("cannot use tailable option with a sort other than {$natural: 1}");
    }
    auto source = openOplog(call.services.store.journal(), rangeOf(request.filter.view()), order);
    return query::makeTailFind(call.unit(), std::move(request), std::move(source), !follows);
}

sync::Task<StatusOr<std::unique_ptr<query::QueryCursor>>> findInOplog(Invocation& call,
                                                                      query::FindRequest request,
                                                                      bool follows) {
    Status status = co_await untilReadable(call);
    if (!status.isOk()) {
        co_return status;
    }
    co_return makeOplogFind(call, std::move(request), follows);
}

sync::Task<StatusOr<int64_t>> countInOplog(Invocation& call, query::FindRequest request) {
    StatusOr<std::unique_ptr<query::QueryCursor>> cursor =
        co_await findInOplog(call, std::move(request), false);
    if (!cursor.isOk()) {
        co_return cursor.status();
    }
    int64_t count = 0;
    while (!(*cursor)->isExhausted()) {
        query::Batch batch(kCountedPerBatch, bson::kDocumentBytesMax);
        Status status = co_await fillBatch(call, **cursor, &batch);
        if (!status.isOk()) {
            co_return status;
        }
        count += static_cast<int64_t>(batch.count());
    }
    co_return count;
}

sync::Task<StatusOr<std::unique_ptr<query::TailSource>>> readOplogFor(Invocation& call,
                                                                      bson::Document pipeline,
                                                                      bson::Document hint) {
    Status status = co_await untilReadable(call);
    if (!status.isOk()) {
        co_return status;
    }
    co_return openOplog(call.services.store.journal(),
                        rangeOf(firstMatch(pipeline)),
                        directionOf(hint) == -1 ? OplogOrder::kBackward : OplogOrder::kForward);
}

void addOplogStats(const Services& services, int64_t scale, bson::Builder* out) {
    const auto bytes = static_cast<int64_t>(oplogBytes(services));
    bson::addCount(out, "size", bytes / scale);
    bson::addCount(out, "storageSize", bytes / scale);
    out->add("freeStorageSize", int32_t{0}).add("capped", true);
    bson::addCount(out, "max", 0);
    bson::addCount(
        out, "maxSize", static_cast<int64_t>(services.store.options().journalRetainBytes) / scale);
    out->add("nindexes", int32_t{0});
    bson::addCount(out, "totalIndexSize", 0);
    bson::addCount(out, "totalSize", bytes / scale);
    bson::addCount(out, "scaleFactor", scale);
}

bson::OwnedDocument describeOplog(const Services& services, bool nameOnly) {
    bson::Builder out;
    out.add("name", kOplogCollection).add("type", "collection");
    if (!nameOnly) {
        bson::Builder options = out.object("options");
        options.add("capped", true);
        bson::addCount(
            &options, "size", static_cast<int64_t>(services.store.options().journalRetainBytes));
        options.add("autoIndexId", false);
        options.close();
        out.object("info").add("readOnly", false);
    }
    return bson::OwnedDocument(out.finish());
}

}  // namespace freshet::command
