// SPDX-License-Identifier: Apache-2.0
#include "freshet/command/run/arguments.h"

#include "freshet/command/run/fields.h"
#include "freshet/platform/clock.h"

#include <algorithm>

namespace freshet::command {
namespace {

constexpr std::string_view kGenericArguments[] = {
    "$db",
    "lsid",
    "txnNumber",
    "autocommit",
    "readConcern",
    "writeConcern",
    "maxTimeMS",
    "$readPreference",
    "$clusterTime",
    "startTransaction",
    "comment",
    "apiVersion",
    "apiStrict",
    "apiDeprecationErrors",
    "maxTimeMSOpOnly",
};

constexpr int64_t kMaxTimeMsLimit = INT32_MAX;

bool isAllowed(const Command& command, std::string_view field) {
    return isGenericArgument(field) ||
           std::find(command.fields.begin(), command.fields.end(), field) != command.fields.end();
}

Status checkSequences(const Command& command, const wire::Request& request) {
    for (const wire::Sequence& sequence : request.sequences) {
        if (!command.acceptsUnknownFields && !isAllowed(command, sequence.name)) {
            return unknownField(command.name, sequence.name);
        }
    }
    return Status::ok();
}

/// Without `w` the default counts, which is majority.
Status parseWriteConcern(bson::Document concern, GenericArguments* out) {
    Fields fields(concern, "writeConcern");
    fields.allowOnly({"w", "j", "fsync", "wtimeout", "provenance"});
    const bool journaled = fields.boolean("j", false) || fields.boolean("fsync", false);
    fields.integer("wtimeout", 0);
    bson::Element w = fields.element("w");
    FRESHET_RETURN_IF_ERROR(fields.status());
    if (w.isString()) {
        if (w.stringValue() != "majority") {
            return invalid(Reason::kUnknownReplWriteConcern,
                           "No write concern mode named '" + std::string(w.stringValue()) +
                               "' found in replica set configuration");
        }
    } else if (w.isNumber()) {
        const int64_t nodes = w.toInt64();
        if (nodes < 0 || nodes > 50) {
            return invalid(Reason::kFailedToParse,
                           "w has to be a non-negative number and not greater than 50; found: " +
                               std::to_string(nodes));
        }
        if (nodes > 1) {
            return badValue("cannot use 'w' > 1 when a host is not replicated");
        }
        out->waitsForDisk = journaled;
    } else if (!w.isMissing()) {
        return invalid(Reason::kFailedToParse, "w has to be a number, string, or object");
    }
    return Status::ok();
}

Status parseReadConcern(bson::Document concern, const Command& command, GenericArguments* out) {
    Fields fields(concern, "readConcern");
    fields.allowOnly({"level", "afterClusterTime", "atClusterTime", "provenance"});
    std::string_view level = fields.string("level");
    FRESHET_RETURN_IF_ERROR(fields.status());
    if (level.empty() || level == "local" || level == "available") {
        return Status::ok();
    }
    if (level != "majority" && level != "linearizable" && level != "snapshot") {
        return badValue("Enumeration value '" + std::string(level) +
                        "' for field 'readConcern.level' is not a valid value.");
    }
    if (!command.takesReadConcern) {
        return invalid(Reason::kInvalidOptions,
                       "read concern level '" + std::string(level) +
                           "' is not supported for the command '" + std::string(command.name) +
                           "'");
    }
    out->needsDurableRead = true;
    return Status::ok();
}

Status checkApiVersion(Fields* fields, const Command& command) {
    std::string_view version = fields->string("apiVersion");
    const bool isStrict = fields->boolean("apiStrict", false);
    fields->boolean("apiDeprecationErrors", false);
    if (!fields->has("apiVersion")) {
        return fields->has("apiStrict") || fields->has("apiDeprecationErrors")
                   ? invalid(Reason::kApiVersionError,
                             "Provided apiStrict and/or apiDeprecationErrors without passing "
                             "apiVersion")
                   : Status::ok();
    }
    if (version != "1") {
        return invalid(Reason::kApiVersionError, "API version must be \"1\"");
    }
    if (isStrict && !command.inApiVersion1) {
        return invalid(Reason::kApiStrictError,
                       "Provided apiStrict:true, but the command " + std::string(command.name) +
                           " is not in API Version 1");
    }
    return Status::ok();
}

Status parseSession(Fields* fields, GenericArguments* out) {
    bson::Document lsid = fields->object("lsid");
    if (fields->has("lsid")) {
        bson::Element id = lsid.find("id");
        if (id.type() != bson::Type::kBinary || id.binaryValue().bytes.size() != 16) {
            fields->fail(invalid(Reason::kTypeMismatch,
                                 "BSON field 'OperationSessionInfo.lsid.id' must be a UUID"));
        }
        out->lsid = std::string(lsid.bytes());
    }
    // The persona is a standalone's until multi-document transactions are served.
    if (fields->has("txnNumber") || fields->has("autocommit") || fields->has("startTransaction")) {
        fields->fail(
            invalid(Reason::kIllegalOperation,
                    "Transaction numbers are only allowed on a replica set member or mongos"));
    }
    return fields->status();
}

}  // namespace

bool isGenericArgument(std::string_view name) {
    return std::find(std::begin(kGenericArguments), std::end(kGenericArguments), name) !=
           std::end(kGenericArguments);
}

Status checkKnownFields(const Command& command, bson::Document body) {
    bool isFirst = true;  // the command's own name, whichever alias was used
    for (const bson::Element& element : body) {
        if (!isFirst && !command.acceptsUnknownFields && !isAllowed(command, element.name())) {
            return unknownField(command.name, element.name());
        }
        isFirst = false;
    }
    return Status::ok();
}

StatusOr<GenericArguments> parseArguments(const Command& command, const wire::Request& request) {
    GenericArguments out;
    Fields fields(request.body, command.name);
    if (request.op == wire::OpCode::kQuery) {
        out.db = std::string(request.ns.substr(0, request.ns.find('.')));
    } else if (!fields.has("$db")) {
        return invalid(Reason::kMissingDb, "OP_MSG requests require a $db argument");
    } else {
        out.db = std::string(fields.string("$db"));
    }
    FRESHET_RETURN_IF_ERROR(fields.status());
    FRESHET_RETURN_IF_ERROR(checkApiVersion(&fields, command));
    FRESHET_RETURN_IF_ERROR(checkKnownFields(command, request.body));
    FRESHET_RETURN_IF_ERROR(checkSequences(command, request));
    FRESHET_RETURN_IF_ERROR(parseSession(&fields, &out));
    const int64_t maxTimeMs = fields.integer("maxTimeMS", 0, 0);
    bson::Document writeConcern = fields.object("writeConcern");
    bson::Document readConcern = fields.object("readConcern");
    FRESHET_RETURN_IF_ERROR(fields.status());
    if (maxTimeMs > kMaxTimeMsLimit) {
        return badValue(std::to_string(maxTimeMs) + " value for maxTimeMS is out of range");
    }
    if (maxTimeMs > 0) {
        out.deadlineNanos =
            platform::monotonicNanos() + static_cast<uint64_t>(maxTimeMs) * 1'000'000;
    }
    FRESHET_RETURN_IF_ERROR(parseWriteConcern(writeConcern, &out));
    FRESHET_RETURN_IF_ERROR(parseReadConcern(readConcern, command, &out));
    return out;
}

}  // namespace freshet::command
