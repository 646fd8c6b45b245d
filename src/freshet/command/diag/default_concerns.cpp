// SPDX-License-Identifier: Apache-2.0
/// getDefaultRWConcern and setDefaultRWConcern: the concerns of commands that have none of their
/// own, on a replica set's member only.
#include "freshet/command/access/replica_set_member.h"
#include "freshet/command/diag/own_documents.h"
#include "freshet/command/run/tables.h"
#include "freshet/platform/clock.h"

namespace freshet::command {
namespace {

constexpr uint32_t kNotOnStandalone = 51300;

Status checkMember(const Invocation& call) {
    return isReplicaSet(call.services) ? Status::ok()
                                       : invalid(location(kNotOnStandalone),
                                                 "'" + std::string(call.command.name) +
                                                     "' is not supported on standalone nodes.");
}

Status unsuitable(std::string_view what) {
    return badValue(std::string(what) + " is not suitable for the default read concern");
}

Status checkReadDefault(bson::Document concern) {
    Fields fields(concern, "setDefaultRWConcern.defaultReadConcern");
    fields.allowOnly({"level", "afterClusterTime", "atClusterTime", "afterOpTime", "provenance"});
    const std::string_view level = fields.string("level");
    FRESHET_RETURN_IF_ERROR(fields.status());
    if (level == "snapshot" || level == "linearizable") {
        return unsuitable("level: '" + std::string(level) + "'");
    }
    for (const char* name : {"afterOpTime", "afterClusterTime", "atClusterTime"}) {
        if (concern.has(name)) {
            return unsuitable("'" + std::string(name) + "'");
        }
    }
    if (concern.has("provenance")) {
        return badValue("'provenance' must be unset in default read concern");
    }
    return level == "local" || level == "available" || level == "majority"
               ? Status::ok()
               : badValue("Enumeration value '" + std::string(level) +
                          "' for field 'readConcern.level' is not a valid value.");
}

/// What w may be here: 1 or "majority", since there is one member.
Status checkWriteDefault(bson::Document concern) {
    Fields fields(concern, "setDefaultRWConcern.defaultWriteConcern");
    fields.allowOnly({"w", "j", "fsync", "wtimeout", "provenance"});
    fields.boolean("j", false);
    fields.boolean("fsync", false);
    fields.integer("wtimeout", 0, 0);
    const bson::Element w = fields.element("w");
    FRESHET_RETURN_IF_ERROR(fields.status());
    if (concern.has("provenance")) {
        return badValue("'provenance' must be unset in default write concern");
    }
    if (w.isString()) {
        return w.stringValue() == "majority"
                   ? Status::ok()
                   : invalid(Reason::kUnknownReplWriteConcern,
                             "No write concern mode named '" + std::string(w.stringValue()) +
                                 "' found in replica set configuration");
    }
    if (w && !w.isNumber()) {
        return invalid(Reason::kFailedToParse, "w has to be a number, string, or object");
    }
    if (w && w.toInt64() < 1) {
        return badValue(
            "Unacknowledged write concern is not suitable for the default write concern");
    }
    return w && w.toInt64() > 1
               ? invalid(Reason::kUnsatisfiableWriteConcern, "Not enough data-bearing nodes")
               : Status::ok();
}

/// As it is kept: w and wtimeout are always there.
void addWriteDefault(bson::Document given, bson::Builder* out) {
    auto concern = out->object("defaultWriteConcern");
    const bson::Element w = given.find("w");
    if (w.isString()) {
        concern.add(w);
    } else {
        concern.add("w", int32_t{1});
    }
    if (given.find("j").isTruthy() || given.find("fsync").isTruthy()) {
        concern.add("j", true);
    }
    concern.add("wtimeout", static_cast<int32_t>(given.find("wtimeout").toInt64()));
}

void addDefaults(Invocation& call) {
    const bson::OwnedDocument stored = call.services.concerns.document();
    const bson::Element read = stored.view().find("defaultReadConcern");
    const bson::Element write = stored.view().find("defaultWriteConcern");
    bson::Builder& reply = call.reply;
    if (read.isMissing()) {
        reply.object("defaultReadConcern").add("level", "local");
    } else {
        reply.add(read);
    }
    if (write.isMissing()) {
        reply.object("defaultWriteConcern").add("w", "majority").add("wtimeout", int32_t{0});
    } else {
        reply.add(write);
    }
    for (const char* name : {"updateOpTime", "updateWallClockTime"}) {
        if (const bson::Element time = stored.view().find(name); !time.isMissing()) {
            reply.add(time);
        }
    }
    reply.add("defaultWriteConcernSource", write.isMissing() ? "implicit" : "global");
    reply.add("defaultReadConcernSource", read.isMissing() ? "implicit" : "global");
    reply.add("localUpdateWallClockTime", bson::Date{platform::wallMillis()});
}

sync::Task<Status> runGetDefault(Invocation& call) {
    FRESHET_CO_RETURN_IF_ERROR(checkMember(call));
    Fields fields(call.body(), "getDefaultRWConcern");
    const bool isInMemory = fields.boolean("inMemory", false);
    FRESHET_CO_RETURN_IF_ERROR(fields.status());
    addDefaults(call);
    if (isInMemory) {
        call.reply.add("inMemory", true);
    }
    co_return Status::ok();
}

/// A concern that is absent stays as it is, an empty one is the implicit one again.
Status compose(const Invocation& call, bson::Builder* out) {
    Fields fields(call.body(), "setDefaultRWConcern");
    const bson::Document read = fields.object("defaultReadConcern");
    const bson::Document write = fields.object("defaultWriteConcern");
    FRESHET_RETURN_IF_ERROR(fields.status());
    const bool hasRead = fields.has("defaultReadConcern");
    const bool hasWrite = fields.has("defaultWriteConcern");
    if (!hasRead && !hasWrite) {
        return badValue(
            "At least one of the \"defaultReadConcern\" or \"defaultWriteConcern\" "
            "fields must be present");
    }
    const bson::OwnedDocument stored = call.services.concerns.document();
    const bson::Element oldRead = stored.view().find("defaultReadConcern");
    const bson::Element oldWrite = stored.view().find("defaultWriteConcern");
    out->add("_id", kConcernDefaultsId);
    if (!read.isEmpty()) {
        FRESHET_RETURN_IF_ERROR(checkReadDefault(read));
        out->add("defaultReadConcern", read);
    } else if (!hasRead && oldRead) {
        out->add(oldRead);
    }
    if (!write.isEmpty()) {
        FRESHET_RETURN_IF_ERROR(checkWriteDefault(write));
        addWriteDefault(write, out);
    } else if (hasWrite && oldWrite) {
        return invalid(Reason::kIllegalOperation,
                       "The global default write concern cannot be unset once it is set.");
    } else if (oldWrite) {
        out->add(oldWrite);
    }
    out->add("updateOpTime", clusterTime(call.services));
    out->add("updateWallClockTime", bson::Date{platform::wallMillis()});
    return Status::ok();
}

sync::Task<Status> runSetDefault(Invocation& call) {
    FRESHET_CO_RETURN_IF_ERROR(checkMember(call));
    bson::Builder composed;
    FRESHET_CO_RETURN_IF_ERROR(compose(call, &composed));
    bson::OwnedDocument document(composed.finish());
    const Status stored = co_await storeOwn(call, kSettingsPlace, document);
    FRESHET_CO_RETURN_IF_ERROR(stored);
    call.services.concerns.set(std::move(document));
    addDefaults(call);
    co_return Status::ok();
}

}  // namespace

CommandTable defaultConcernCommands() {
    return {
        {
            .name = "getDefaultRWConcern",
            .aliases = {},
            .help = "the concerns of commands that have none of their own",
            .fields = {"inMemory"},
            .handler = runGetDefault,
            .access = Access::onCluster(Action::kGetDefaultRWConcern),
            .adminOnly = true,
            .readOnly = true,
        },
        {
            .name = "setDefaultRWConcern",
            .aliases = {},
            .help = "set the concerns of commands that have none of their own",
            .fields = {"defaultReadConcern", "defaultWriteConcern"},
            .handler = runSetDefault,
            .access = Access::onCluster(Action::kSetDefaultRWConcern),
            .adminOnly = true,
        },
    };
}

}  // namespace freshet::command
