// SPDX-License-Identifier: Apache-2.0
#include "freshet/command/run/arguments.h"

#include "freshet/catalog/catalog.h"
#include "freshet/command/run/fail_command.h"
#include "freshet/command/run/fields.h"
#include "freshet/command/run/sessions.h"
#include "freshet/command/txn/read_concern.h"
#include "freshet/command/txn/statement.h"
#include "freshet/platform/clock.h"

#include <algorithm>
#include <utility>

namespace freshet::command {
namespace {

/// A set of names, found by their tags. kMax bounds their number.
template <size_t kMax>
class NameTable {
public:
    constexpr explicit NameTable(const std::string_view (&names)[kMax]) {
        for (size_t i = 0; i < kMax; ++i) {
            const uint8_t tag = nameTag(names[i]);
            entries_[i] = {names[i], first_[tag]};
            first_[tag] = static_cast<uint8_t>(i + 1);
        }
    }
    constexpr bool has(std::string_view name) const {
        for (uint8_t i = first_[nameTag(name)]; i != 0; i = entries_[i - 1].next) {
            if (entries_[i - 1].name == name) {
                return true;
            }
        }
        return false;
    }

private:
    struct Entry {
        std::string_view name;
        uint8_t next = 0;  // with the same tag: its index + 1; 0: none
    };
    Entry entries_[kMax];
    uint8_t first_[64] = {};  // by tag, in the same way
};

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
    "help",
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

/// A standalone refuses an unfulfillable concern before it begins, a member reports it afterwards.
Status unmetConcern(Status of, bool isReplicaSet, GenericArguments* out) {
    if (!isReplicaSet) {
        return of;
    }
    out->unmetConcern = std::move(of);
    return Status::ok();
}

Status noSuchMode(std::string_view mode, bool isReplicaSet, GenericArguments* out) {
    const std::string name(mode);
    return unmetConcern(isReplicaSet ? invalid(Reason::kUnknownReplWriteConcern,
                                               "No write concern mode named '" + name +
                                                   "' found in replica set configuration")
                                     : badValue("cannot use non-majority 'w' mode " + name +
                                                " when a host is not a member of a replica set"),
                        isReplicaSet,
                        out);
}

Status parseWriteConcernNodes(const bson::Element& w,
                              bool isJournaled,
                              bool isReplicaSet,
                              GenericArguments* out) {
    if (w.isString()) {
        out->waitsForDisk = true;
        return w.stringValue() == "majority" ? Status::ok()
                                             : noSuchMode(w.stringValue(), isReplicaSet, out);
    }
    if (w.isObject()) {
        return badValue("cannot use tags in 'w' when a host is not a member of a replica set");
    }
    if (!w.isNumber()) {
        return invalid(Reason::kFailedToParse, "w has to be a number, string, or object");
    }
    const int64_t nodes = w.toInt64();
    if (nodes < 0 || nodes > 50) {
        return invalid(Reason::kFailedToParse,
                       "w has to be a non-negative number and not greater than 50; found: " +
                           std::to_string(nodes));
    }
    if (nodes > 1) {
        return unmetConcern(
            isReplicaSet
                ? invalid(Reason::kUnsatisfiableWriteConcern, "Not enough data-bearing nodes")
                : badValue("cannot use 'w' > 1 when a host is not replicated"),
            isReplicaSet,
            out);
    }
    out->waitsForDisk = isJournaled;
    return Status::ok();
}

/// Without `w` the default applies, which is majority unless a client has set another one.
Status parseWriteConcern(bson::Document concern,
                         const Command& command,
                         bool isReplicaSet,
                         GenericArguments* out) {
    if (concern.isEmpty()) {
        return Status::ok();
    }
    if (command.readOnly && command.writesWith == nullptr && !command.acceptsUnknownFields) {
        return invalid(Reason::kInvalidOptions, "Command does not support writeConcern");
    }
    Fields fields(concern, "writeConcern");
    fields.allowOnly({"w", "j", "fsync", "wtimeout", "provenance", "getLastError"});
    const bool isSynced = fields.boolean("fsync", false);
    const bool isJournaled = fields.boolean("j", false);
    const bson::Element timeout = fields.element("wtimeout");
    const bson::Element w = fields.element("w");
    FRESHET_RETURN_IF_ERROR(fields.status());
    if (isSynced && isJournaled) {
        return invalid(Reason::kFailedToParse, "fsync and j options cannot be used together");
    }
    if (!timeout.isMissing() && !timeout.isNumber()) {
        return invalid(Reason::kFailedToParse, "wtimeout must be a number");
    }
    if (w.isMissing()) {
        out->waitsForDisk |= isSynced || isJournaled;
        return Status::ok();
    }
    return parseWriteConcernNodes(w, isSynced || isJournaled, isReplicaSet, out);
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
                           " is not in API Version 1. Information on supported commands and "
                           "migrations in API Version 1 can be found at "
                           "https://dochub.mongodb.org/core/manual-versioned-api");
    }
    return Status::ok();
}

Status parseTransaction(Fields* fields, GenericArguments* out) {
    const bool commitsItself = fields->boolean("autocommit", false);
    out->startsTransaction = fields->boolean("startTransaction", false);
    FRESHET_RETURN_IF_ERROR(fields->status());
    out->isInTransaction = fields->has("autocommit");
    if (commitsItself) {
        return invalid(Reason::kInvalidOptions, "Specifying autocommit=true is not allowed.");
    }
    if (fields->has("startTransaction") && !out->isInTransaction) {
        return invalid(Reason::kInvalidOptions,
                       "'startTransaction' field requires 'autocommit' field to also be specified");
    }
    if (fields->has("startTransaction") && !out->startsTransaction) {
        return invalid(Reason::kInvalidOptions,
                       "Specifying startTransaction=false is not allowed.");
    }
    return Status::ok();
}

Status parseTransactionNumber(Fields* fields, const Command& command, GenericArguments* out) {
    const bson::Element number = fields->element("txnNumber");
    if (number.type() != bson::Type::kInt64) {
        return invalid(Reason::kTypeMismatch,
                       "BSON field 'OperationSessionInfo.txnNumber' is the wrong type '" +
                           std::string(bson::typeName(number.type())) + "', expected type 'long'");
    }
    if (number.toInt64() < 0) {
        return invalid(Reason::kInvalidOptions, "Transaction number cannot be negative");
    }
    FRESHET_RETURN_IF_ERROR(parseTransaction(fields, out));
    if (!out->isInTransaction && !command.isRetryable) {
        return invalid(Reason::kNotARetryableWriteCommand,
                       "txnNumber may only be provided for multi-document transactions and "
                       "retryable write commands. autocommit:false was not provided, and " +
                           std::string(command.name) + " is not a retryable write command.");
    }
    out->txnNumber = number.toInt64();
    return Status::ok();
}

Status parseSession(Fields* fields, const Command& command, GenericArguments* out) {
    const bson::Document lsid = fields->object("lsid");
    FRESHET_RETURN_IF_ERROR(fields->status());
    if (fields->has("lsid")) {
        FRESHET_ASSIGN_OR_RETURN(out->lsid, sessionName(lsid, "OperationSessionInfo.lsid"));
    }
    const bool hasNumber = fields->has("txnNumber");
    if (hasNumber && out->lsid.empty()) {
        return invalid(Reason::kInvalidOptions,
                       "Transaction number requires a session ID to also be specified");
    }
    for (const char* name : {"autocommit", "startTransaction"}) {
        if (fields->has(name) && !hasNumber) {
            return invalid(Reason::kInvalidOptions,
                           "'" + std::string(name) +
                               "' field requires a transaction number to also be specified");
        }
    }
    return hasNumber ? parseTransactionNumber(fields, command, out) : Status::ok();
}

Status parseTimeLimit(const bson::Element& limit, GenericArguments* out) {
    if (limit.isMissing()) {
        return Status::ok();
    }
    if (!limit.isNumber()) {
        return badValue("maxTimeMS must be a number");
    }
    int64_t ms = 0;
    if (!limit.toExactInt64(&ms)) {
        return badValue("maxTimeMS has non-integral value");
    }
    if (ms < 0 || ms > kMaxTimeMsLimit) {
        return badValue(std::to_string(ms) + " value for maxTimeMS is out of range [0, " +
                        std::to_string(kMaxTimeMsLimit) + "]");
    }
    if (ms > 0 && !hasNoTimeLimits()) {
        out->deadlineNanos = platform::monotonicNanos() + static_cast<uint64_t>(ms) * 1'000'000;
    }
    return Status::ok();
}

Status checkDatabaseName(std::string_view db) {
    return catalog::isDatabaseName(db) || db == "$external"
               ? Status::ok()
               : invalid(Reason::kInvalidNamespace,
                         "Invalid database name: '" + std::string(db) + "'");
}

/// $clusterTime, of which a member looks at the form only: its time is the log's.
Status checkClusterTime(Fields* fields) {
    const bson::Document sent = fields->object("$clusterTime");
    FRESHET_RETURN_IF_ERROR(fields->status());
    const bson::Element time = sent.find("clusterTime");
    if (time.isMissing()) {
        return invalid(Reason::kMissingField,
                       "BSON field '$clusterTime.clusterTime' is missing but a required field");
    }
    return time.type() == bson::Type::kTimestamp
               ? Status::ok()
               : invalid(Reason::kTypeMismatch,
                         "BSON field '$clusterTime.clusterTime' is the wrong type '" +
                             std::string(bson::typeName(time.type())) +
                             "', expected type 'timestamp'");
}

}  // namespace

bool isGenericArgument(std::string_view name) {
    static constexpr NameTable kTable(kGenericArguments);
    return kTable.has(name);
}

std::vector<std::string_view> genericArgumentNames() {
    return {std::begin(kGenericArguments), std::end(kGenericArguments)};
}

Status checkKnownFields(const Command& command, const BodyIndex& body) {
    if (command.acceptsUnknownFields) {
        return Status::ok();
    }
    bool isFirst = true;  // the command's own name, whichever alias was used
    const bson::Element unknown = body.findFirstNot([&](const bson::Element& element) {
        return std::exchange(isFirst, false) || isAllowed(command, element.name());
    });
    return unknown.isMissing() ? Status::ok() : unknownField(command.name, unknown.name());
}

StatusOr<GenericArguments> parseArguments(const Command& command,
                                          const wire::Request& request,
                                          const BodyIndex& body,
                                          bool isReplicaSet,
                                          const ConcernDefaults& defaults) {
    StatusOr<GenericArguments> parsed = GenericArguments();  // constructed in place: it is large
    GenericArguments& out = *parsed;
    out.waitsForDisk = defaults.waitsForDisk();
    out.needsDurableRead = command.takesReadConcern && defaults.readsDurably();
    Fields fields(body, command.name);
    if (request.op == wire::OpCode::kQuery) {
        out.db = std::string(request.ns.substr(0, request.ns.find('.')));
    } else if (!fields.has("$db")) {
        return invalid(Reason::kMissingDb, "OP_MSG requests require a $db argument");
    } else {
        out.db = std::string(fields.string("$db"));
    }
    FRESHET_RETURN_IF_ERROR(fields.status());
    FRESHET_RETURN_IF_ERROR(checkApiVersion(&fields, command));
    out.hasApiVersion = fields.has("apiVersion");
    out.isApiStrict = fields.boolean("apiStrict", false);
    out.asksForHelp = fields.element("help").isTruthy();
    FRESHET_RETURN_IF_ERROR(checkKnownFields(command, body));
    FRESHET_RETURN_IF_ERROR(checkSequences(command, request));
    FRESHET_RETURN_IF_ERROR(parseSession(&fields, command, &out));
    if (isReplicaSet && fields.has("$clusterTime")) {
        FRESHET_RETURN_IF_ERROR(checkClusterTime(&fields));
    }
    FRESHET_RETURN_IF_ERROR(checkDatabaseName(out.db));
    FRESHET_RETURN_IF_ERROR(parseTimeLimit(fields.element("maxTimeMS"), &out));
    bson::Document writeConcern = fields.object("writeConcern");
    bson::Document readConcern = fields.object("readConcern");
    FRESHET_RETURN_IF_ERROR(fields.status());
    FRESHET_RETURN_IF_ERROR(parseWriteConcern(writeConcern, command, isReplicaSet, &out));
    FRESHET_RETURN_IF_ERROR(parseReadConcern(readConcern, command, isReplicaSet, &out));
    if (out.isInTransaction) {
        FRESHET_RETURN_IF_ERROR(checkStatement(command, out, body));
    }
    return parsed;
}

}  // namespace freshet::command
