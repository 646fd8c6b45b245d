// SPDX-License-Identifier: Apache-2.0
/// The `profile` command and the documents of <db>.system.profile. The collection is an ordinary
/// one that is kept below kProfileBytesMax by deleting its oldest documents: each writer does that
/// after the document that it adds.
#include "freshet/command/diag/profile.h"

#include "freshet/bson/count.h"
#include "freshet/bson/json.h"
#include "freshet/command/access/authorize.h"
#include "freshet/command/diag/sizes.h"
#include "freshet/command/error_map.h"
#include "freshet/command/run/tables.h"
#include "freshet/platform/clock.h"
#include "freshet/query/write.h"
#include "freshet/telemetry/log.h"

#include <algorithm>

namespace freshet::command {
namespace {

constexpr int64_t kProfileBytesMax = 1 << 20;
constexpr int64_t kIdBytes = 17;  // of the _id that a document gets when it is inserted
constexpr double kMillion = 1e6;
constexpr size_t kFilterBytesMax = 64 * 1024;  // one is kept in memory for each database

void addIfKnown(std::string_view name, int64_t value, bson::Builder* out) {
    if (value >= 0) {
        bson::addCount(out, name, value);
    }
}

void addWork(const Invocation& call, bson::Builder* out) {
    const OperationStats& stats = call.stats;
    const query::WorkDone& work = stats.work;
    if (stats.cursorId != 0) {
        out->add("cursorid", stats.cursorId);
    }
    if (!work.plan.kind.empty()) {
        bson::addCount(out, "keysExamined", work.keysExamined);
        bson::addCount(out, "docsExamined", work.docsExamined);
    }
    if (work.sortsInMemory) {
        out->add("hasSortStage", true);
    }
    if (work.spills > 0) {
        out->add("usedDisk", true);
    }
    addIfKnown("nMatched", work.matched, out);
    addIfKnown("nModified", work.modified, out);
    if (work.upserted > 0) {
        out->add("upsert", true).add("nUpserted", work.upserted);
    }
    addIfKnown("ninserted", work.inserted, out);
    addIfKnown("ndeleted", work.deleted, out);
    if (stats.nReturned >= 0 && stats.cursorId == 0) {
        out->add("cursorExhausted", true);
    }
    out->add("numYield", static_cast<int32_t>(stats.yields));
    addIfKnown("nreturned", stats.nReturned, out);
}

/// The document to be stored in the profile.
bson::OwnedDocument describe(const Invocation& call, const OperationEnd& end) {
    bson::Builder out;
    out.add("op", operationKindName(call.command.kind));
    out.add("ns", namespaceOf(call.command, call.body(), call.generic.db));
    out.add("command", presentedCommand(call).view());
    addWork(call, &out);
    out.object("locks");
    out.object("flowControl");
    if (!end.status.isOk()) {
        const WireError error = wireErrorOf(end.status);
        out.add("ok", 0.0).add("errMsg", bson::repairedUtf8(end.status.text()));
        out.add("errName", error.name).add("errCode", error.code);
    }
    out.add("responseLength", static_cast<int32_t>(end.replyBytes)).add("protocol", "op_msg");
    out.add("millis", static_cast<int32_t>(end.millis()));
    if (!call.stats.work.plan.kind.empty()) {
        out.add("planSummary", call.stats.work.plan.text());
    }
    out.add("ts", bson::Date{platform::wallMillis()});
    out.add("client", call.client.remote.substr(0, call.client.remote.rfind(':')));
    if (const std::string app = call.connection.appName(); !app.empty()) {
        out.add("appName", app);
    }
    const std::string user = call.connection.user();
    {
        auto users = out.array("allUsers");
        addUser(user, &users);
    }
    out.add("user", user);
    return bson::OwnedDocument(out.finish());
}

/// Deletes the oldest document; *bytes is its size, 0 when there is none.
sync::Task<Status> deleteOldest(engine::Store& store,
                                catalog::CollectionRef collection,
                                int64_t* bytes) {
    bson::Builder natural;
    natural.add("$natural", int32_t{1});
    query::DeleteRequest request;
    request.hint = bson::OwnedDocument(natural.finish());
    request.justOne = true;
    request.returning = query::Returning::kBefore;
    StatusOr<std::unique_ptr<query::WriteOp>> op =
        query::makeDelete(store, std::move(collection), std::move(request));
    FRESHET_CO_RETURN_IF_ERROR(op.status());
    // Not interrupted together with the reported operation, which has ended.
    Status status = co_await driveToEnd(**op);
    FRESHET_CO_RETURN_IF_ERROR(std::move(status));
    const auto& gone = (*op)->result().value;
    *bytes = gone.has_value() ? static_cast<int64_t>(gone->bytes().size()) : 0;
    co_return Status::ok();
}

/// After `added` bytes were added: deletes the oldest documents until the rest is within bounds.
sync::Task<Status> keepWithinBounds(Invocation& call,
                                    catalog::CollectionRef collection,
                                    int64_t added) {
    Profiler& profiler = call.services.profiler;
    const std::string& db = collection->db;
    std::optional<int64_t> held = profiler.addBytes(db, collection->uuid, added);
    if (!held.has_value()) {
        StatusOr<CollectionSizes> sizes = co_await measure(call, collection, false);
        FRESHET_CO_RETURN_IF_ERROR(sizes.status());
        profiler.setBytes(db, collection->uuid, sizes->bytes);
        held = sizes->bytes;
    }
    while (held.value_or(0) > kProfileBytesMax) {
        int64_t gone = 0;
        Status status = co_await deleteOldest(call.services.store, collection, &gone);
        FRESHET_CO_RETURN_IF_ERROR(std::move(status));
        if (gone == 0) {
            profiler.setBytes(db, collection->uuid, 0);
            break;
        }
        held = profiler.addBytes(db, collection->uuid, -gone);
    }
    co_return Status::ok();
}

sync::Task<Status> makeProfileCollection(Invocation& call) {
    std::unique_ptr<catalog::Change> change = call.services.catalog.createCollection(
        call.generic.db, std::string(kProfileCollection), {}, true);
    const Status status = co_await driveChange(call, *change);
    co_return status.code() == Code::kExists ? Status::ok() : status;
}

bool isDatabase(const Services& services, const std::string& name) {
    const std::vector<std::string> databases = services.catalog.databases();
    return std::binary_search(databases.begin(), databases.end(), name);
}

/// Adds the document to the profile collection, which is created with the first one. Operations on
/// databases that do not exist are not recorded: that would create them.
sync::Task<Status> record(Invocation& call, const bson::OwnedDocument& document) {
    Services& services = call.services;
    if (services.writeBlock.isLocked()) {
        co_return Status::ok();
    }
    catalog::CollectionRef collection = services.catalog.find(call.generic.db, kProfileCollection);
    if (collection == nullptr && isDatabase(services, call.generic.db)) {
        Status made = co_await makeProfileCollection(call);
        FRESHET_CO_RETURN_IF_ERROR(std::move(made));
        collection = services.catalog.find(call.generic.db, kProfileCollection);
    }
    if (collection == nullptr) {
        co_return Status::ok();
    }
    StatusOr<std::unique_ptr<query::WriteOp>> op =
        query::makeInsert(services.store, collection, document.view());
    FRESHET_CO_RETURN_IF_ERROR(op.status());
    Status status = co_await driveToEnd(**op);
    FRESHET_CO_RETURN_IF_ERROR(std::move(status));
    const auto bytes = static_cast<int64_t>(document.bytes().size()) + kIdBytes;
    co_return co_await keepWithinBounds(call, std::move(collection), bytes);
}

/// null: no change; "unset" removes the filter.
Status readFilter(const bson::Element& filter, ProfileSettings* settings) {
    if (filter.isMissing()) {
        return Status::ok();
    }
    if (filter.isString() && filter.stringValue() == "unset") {
        settings->filter = nullptr;
        return Status::ok();
    }
    if (!filter.isObject()) {
        return badValue("Expected an object, or the string 'unset'.");
    }
    if (filter.document().size() > kFilterBytesMax) {
        return badValue("A profiler's filter may have at most 64 KiB.");
    }
    FRESHET_ASSIGN_OR_RETURN(settings->filter, query::Matcher::compile(filter.document()));
    return Status::ok();
}

void addSettings(const Services& services, const ProfileSettings& settings, bson::Builder* reply) {
    const ParameterValues& values = services.parameters;
    reply->add("was", settings.level);
    reply->add("slowms", static_cast<int32_t>(ParameterValues::get(values.slowOpThresholdMs)));
    reply->add("sampleRate",
               static_cast<double>(ParameterValues::get(values.slowOpSamplePpm)) / kMillion);
    if (settings.filter != nullptr) {
        reply->add("filter", settings.filter->filter());
        reply->add("note",
                   "When a filter expression is set, slowms and sampleRate are not used for "
                   "profiling and slow-query log lines.");
    }
}

/// A user who may read the profile may ask for its settings.
Status authorizeProfile(Invocation& call, bool onlyAsks) {
    const std::string& db = call.generic.db;
    return onlyAsks && mayDo(call, Action::kFind, db, kProfileCollection)
               ? Status::ok()
               : authorize(call, Action::kEnableProfiler, db);
}

/// An invalid level only asks for the level, and changes the other settings that are named.
sync::Task<Status> runProfile(Invocation& call) {
    Fields fields(call.body(), "profile");
    const int64_t level = fields.integer("profile", -1);
    const bson::Element slow = fields.element("slowms");
    const bson::Element rate = fields.element("sampleRate");
    const int64_t slowMs = fields.integer("slowms", 0);
    FRESHET_CO_RETURN_IF_ERROR(fields.status());
    const bool onlyAsks = level == -1 && !slow && !rate && fields.element("filter").isMissing();
    FRESHET_CO_RETURN_IF_ERROR(authorizeProfile(call, onlyAsks));
    if (!rate.isMissing() && (!rate.isNumber() || rate.toDouble() < 0 || rate.toDouble() > 1)) {
        co_return badValue("'sampleRate' must be between 0.0 and 1.0 inclusive");
    }
    Services& services = call.services;
    const ProfileSettings before = services.profiler.of(call.generic.db);
    ProfileSettings after = before;
    FRESHET_CO_RETURN_IF_ERROR(readFilter(fields.element("filter"), &after));
    if (level >= 0 && level <= 2) {
        after.level = static_cast<int32_t>(level);
    }
    if (after.level > 0 && before.level == 0) {
        FRESHET_CO_RETURN_IF_ERROR(
            catalog::checkNames(call.generic.db, std::string(kProfileCollection)));
        Status status = co_await makeProfileCollection(call);
        FRESHET_CO_RETURN_IF_ERROR(std::move(status));
    }
    addSettings(services, before, &call.reply);
    FRESHET_CO_RETURN_IF_ERROR(services.profiler.set(call.generic.db, after));
    ParameterValues& values = services.parameters;
    if (!slow.isMissing()) {
        ParameterValues::set(values.slowOpThresholdMs, slowMs);
    }
    if (!rate.isMissing()) {
        ParameterValues::set(values.slowOpSamplePpm,
                             static_cast<int64_t>(rate.toDouble() * kMillion));
    }
    co_return Status::ok();
}

/// Whether it is an operation on data: hello and ping come all the time.
bool isProfiled(const Command& command) {
    return command.kind != OpKind::kCommand || command.access.scope == Access::Scope::kCollection ||
           command.access.scope == Access::Scope::kDatabase ||
           command.access.scope == Access::Scope::kByHandler;
}

}  // namespace

sync::Task<void> report(Invocation& call, const OperationEnd& end) {
    const bool isAwaited = call.command.name == "hello";  // as long as the client asks for
    const ProfileSettings settings = call.services.profiler.of(call.generic.db);
    bson::OwnedDocument document;
    if (settings.level > 0 || settings.filter != nullptr) {
        document = describe(call, end);
    }
    const bool isWanted =
        !isAwaited && (settings.filter != nullptr ? settings.filter->matches(document.view())
                                                  : isSlow(call, end));
    if (isWanted) {
        logSlow(call, end);
    }
    const bool isRecorded = settings.level == 2 || (settings.level == 1 && isWanted);
    if (isRecorded && isProfiled(call.command)) {
        const Status recorded = co_await record(call, document);
        if (!recorded.isOk()) {
            telemetry::logWarning("command",
                                  "the profile of " + call.generic.db +
                                      " lacks an operation: " + recorded.toString());
        }
    }
}

CommandTable profileCommands() {
    return {{
        .name = "profile",
        .aliases = {},
        .help = "which operations are logged and recorded",
        .fields = {"slowms", "sampleRate", "filter"},
        .handler = runProfile,
        .access = Access::byHandler(),
    }};
}

}  // namespace freshet::command
