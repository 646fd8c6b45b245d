// SPDX-License-Identifier: Apache-2.0
#include "freshet/command/stream/watch.h"

#include "freshet/command/stream/change_stream.h"

namespace freshet::command {
namespace {

/// A stream shows only what is durable, which is what "majority" means here.
Status checkReadConcern(const Invocation& call) {
    const bson::Element concern = call.body().find("readConcern");
    const bson::Element level =
        concern.isObject() ? concern.document().find("level") : bson::Element();
    if (!level.isString() || level.stringValue() == "majority") {
        return Status::ok();
    }
    return invalid(Reason::kInvalidOptions,
                   "Aggregation stage $changeStream cannot run with a readConcern other than "
                   "'majority'. Current readConcern: " +
                       std::string(level.stringValue()));
}

}  // namespace

Status watchChanges(Invocation& call,
                    const std::string& collection,
                    bson::Document pipeline,
                    query::AggregateRequest* request) {
    FRESHET_RETURN_IF_ERROR(checkReadConcern(call));
    const bson::Element stage = *pipeline.begin()->document().begin();
    FRESHET_ASSIGN_OR_RETURN(ChangeOptions options,
                             parseChangeOptions(stage, call.generic.db, collection));
    FRESHET_RETURN_IF_ERROR(query::checkStageNames(pipeline));
    FRESHET_RETURN_IF_ERROR(query::checkChangeStream(pipeline));
    request->skipParts = options.after.has_value() ? options.after->part + 1 : 0;
    WatchedPlace place;
    place.db = options.allChangesForCluster ? std::string() : call.generic.db;
    place.collection = collection;
    std::optional<EventKey> key;
    if (pipeline.fieldCount() > 1) {
        key = eventKeyOf((++pipeline.begin())->document());
    }
    FRESHET_ASSIGN_OR_RETURN(request->tail,
                             openChangeStream(call.services.catalog,
                                              *call.services.changes,
                                              std::move(place),
                                              std::move(options),
                                              std::move(key)));
    return Status::ok();
}

}  // namespace freshet::command
