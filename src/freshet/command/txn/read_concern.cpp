// SPDX-License-Identifier: Apache-2.0
#include "freshet/command/txn/read_concern.h"

#include "freshet/bson/json.h"
#include "freshet/command/access/replica_set_member.h"

#include <algorithm>
#include <iterator>

namespace freshet::command {
namespace {

constexpr uint64_t kSecondShift = 32;

Status badConcern(std::string text) {
    return invalid(Reason::kInvalidOptions, std::move(text));
}

/// One of the two times; 0: absent.
Status parseTime(Fields* fields, const char* name, uint64_t* out) {
    const bson::Element time = fields->element(name);
    if (time.isMissing()) {
        return Status::ok();
    }
    if (time.type() != bson::Type::kTimestamp) {
        return invalid(Reason::kTypeMismatch,
                       "\"" + std::string(name) +
                           "\" had the wrong type. Expected timestamp, found " +
                           std::string(bson::typeName(time.type())));
    }
    *out = time.timestampValue();
    // A time within the epoch's first second is allowed for afterClusterTime only.
    const bool isNull =
        std::string_view(name) == "atClusterTime" ? *out >> kSecondShift == 0 : *out == 0;
    return isNull ? badConcern(std::string(name) + " cannot be a null timestamp") : Status::ok();
}

/// Which levels and times go together.
Status checkCombination(std::string_view level, const GenericArguments& generic) {
    if (generic.afterClusterTime != 0 && generic.atClusterTime != 0) {
        return badConcern(
            "Specifying a timestamp for readConcern snapshot in a causally consistent session is "
            "not allowed. See https://docs.mongodb.com/manual/core/"
            "read-isolation-consistency-recency/#causal-consistency");
    }
    if (generic.afterClusterTime != 0 && (level == "available" || level == "linearizable")) {
        return badConcern(
            "afterClusterTime field can be set only if level is equal to majority, local, or "
            "snapshot");
    }
    return generic.atClusterTime != 0 && level != "snapshot"
               ? badConcern("atClusterTime field can be set only if level is equal to snapshot")
               : Status::ok();
}

Status checkLevelName(std::string_view level) {
    constexpr std::string_view kLevels[] = {
        "", "local", "available", "majority", "linearizable", "snapshot"};
    return std::find(std::begin(kLevels), std::end(kLevels), level) != std::end(kLevels)
               ? Status::ok()
               : badValue("Enumeration value '" + std::string(level) +
                          "' for field 'readConcern.level' is not a valid value.");
}

/// Each level means a snapshot; the stronger ones also that what it shows is durable, for which the
/// commit waits.
Status checkTransactionLevel(std::string_view level) {
    return level == "local" || level == "majority" || level == "snapshot"
               ? Status::ok()
               : badConcern(
                     "The readConcern level must be either 'local' (default), 'majority' or "
                     "'snapshot' in order to run in a transaction");
}

Status notSupported(const Command& command,
                    std::string_view level,
                    const GenericArguments& generic,
                    const char* why) {
    bson::Builder shown;
    {
        auto concern = shown.object("readConcern");
        concern.add("level", level);
        if (generic.afterClusterTime != 0) {
            concern.add("afterClusterTime", bson::Timestamp{generic.afterClusterTime});
        }
        if (generic.atClusterTime != 0) {
            concern.add("atClusterTime", bson::Timestamp{generic.atClusterTime});
        }
        concern.add("provenance", "clientSupplied");
    }
    const std::string bytes = shown.finish();
    return badConcern("Command " + std::string(command.name) + " does not support " +
                      bson::toShellText(bson::Document(bytes.data())) + " :: caused by :: " + why);
}

Status needsReplicaSet() {
    return Status(Code::kInvalid,
                  Reason::kNotAReplicaSet,
                  "node needs to be a replica set member to use read concern");
}

std::string timeText(uint64_t time) {
    return "Timestamp(" + std::to_string(time >> kSecondShift) + ", " +
           std::to_string(static_cast<uint32_t>(time)) + ")";
}

Status checkNotAhead(const char* name, uint64_t time, uint64_t now) {
    return time <= now ? Status::ok()
                       : badConcern("readConcern " + std::string(name) +
                                    " value must not be greater than the current clusterTime. "
                                    "Requested clusterTime: { ts: " +
                                    timeText(time) +
                                    " }; current clusterTime: { ts: " + timeText(now) + " }");
}

}  // namespace

Status parseReadConcern(bson::Document concern,
                        const Command& command,
                        bool isReplicaSet,
                        GenericArguments* out) {
    if (concern.isEmpty()) {
        return Status::ok();
    }
    Fields fields(concern, "readConcern");
    fields.allowOnly({"level", "afterClusterTime", "atClusterTime", "provenance"});
    const std::string_view level = fields.string("level");
    FRESHET_RETURN_IF_ERROR(fields.status());
    FRESHET_RETURN_IF_ERROR(parseTime(&fields, "afterClusterTime", &out->afterClusterTime));
    FRESHET_RETURN_IF_ERROR(parseTime(&fields, "atClusterTime", &out->atClusterTime));
    FRESHET_RETURN_IF_ERROR(checkLevelName(level));
    FRESHET_RETURN_IF_ERROR(checkCombination(level, *out));
    const bool isWeak = level.empty() || level == "local" || level == "available";
    // A getMore may have any, as drivers send it in snapshot sessions; its cursor's counts.
    const bool isOfCursor = command.kind == OpKind::kGetMore;
    if (!isWeak && !out->isInTransaction && !isOfCursor) {
        if (!command.takesReadConcern) {
            return notSupported(command, level, *out, "read concern not supported");
        }
        if (level == "snapshot" && !command.takesSnapshots) {
            return notSupported(command, level, *out, "read concern snapshot not supported");
        }
    }
    const bool needsLog =
        out->afterClusterTime != 0 || out->atClusterTime != 0 ||
        (!out->isInTransaction && (level == "linearizable" || level == "snapshot"));
    if (needsLog && !isReplicaSet) {
        return needsReplicaSet();
    }
    if (level.empty() || isOfCursor) {
        return Status::ok();
    }
    out->needsDurableRead = !isWeak && !out->isInTransaction;
    if (out->isInTransaction) {
        return checkTransactionLevel(level);
    }
    out->isLinearizable = level == "linearizable";
    out->readsSnapshot = level == "snapshot";
    return Status::ok();
}

Status checkTimes(const GenericArguments& generic, const Services& services) {
    if (generic.afterClusterTime == 0 && generic.atClusterTime == 0) {
        return Status::ok();
    }
    const uint64_t now = clusterTime(services).value;
    FRESHET_RETURN_IF_ERROR(checkNotAhead("afterClusterTime", generic.afterClusterTime, now));
    return checkNotAhead("atClusterTime", generic.atClusterTime, now);
}

Status snapshotTooOld(uint64_t clusterTime) {
    return Status(Code::kConflict,
                  Reason::kSnapshotTooOld,
                  "Read timestamp " + timeText(clusterTime) +
                      " is older than the oldest available timestamp.");
}

}  // namespace freshet::command
