// SPDX-License-Identifier: Apache-2.0
#include "freshet/command/run/slow_log.h"

#include "freshet/bson/json.h"
#include "freshet/command/error_map.h"
#include "freshet/platform/clock.h"
#include "freshet/platform/thread.h"
#include "freshet/telemetry/log.h"

#include <utility>

namespace freshet::command {
namespace {

constexpr uint64_t kMillion = 1'000'000;

bool isSampled(const ParameterValues& values) {
    const auto rate = static_cast<uint64_t>(ParameterValues::get(values.slowOpSamplePpm));
    return rate >= kMillion || platform::randomSeed() % kMillion < rate;
}

void addIfKnown(std::string_view name, int64_t value, telemetry::LogAttributes* out) {
    if (value >= 0) {
        out->emplace_back(name, value);
    }
}

telemetry::JsonText json(bson::Document document) {
    return {bson::toJson(document)};
}

bool isModification(const Invocation& call) {
    return call.command.kind == OpKind::kUpdate || call.command.kind == OpKind::kDelete;
}

void addWork(const OperationStats& stats, telemetry::LogAttributes* out) {
    const query::WorkDone& work = stats.work;
    if (!work.plan.kind.empty()) {
        out->emplace_back("planSummary", work.plan.text());
    }
    if (stats.cursorId != 0) {
        out->emplace_back("cursorid", stats.cursorId);
    }
    if (!work.plan.kind.empty()) {
        out->emplace_back("keysExamined", work.keysExamined);
        out->emplace_back("docsExamined", work.docsExamined);
    }
    if (work.sortsInMemory) {
        out->emplace_back("hasSortStage", true);
    }
    if (work.spills > 0) {
        out->emplace_back("usedDisk", true);
    }
    addIfKnown("nMatched", work.matched, out);
    addIfKnown("nModified", work.modified, out);
    if (work.upserted > 0) {
        out->emplace_back("nUpserted", work.upserted);
    }
    addIfKnown("ninserted", work.inserted, out);
    addIfKnown("ndeleted", work.deleted, out);
    out->emplace_back("numYields", static_cast<int64_t>(stats.yields));
    addIfKnown("nreturned", stats.nReturned, out);
}

constexpr uint64_t kReportEveryNanos = 1'000'000'000;
constexpr uint64_t kNanosPerMs = 1'000'000;

/// One for each thread.
struct PassReport {
    OperationNames longest;  // of this pass; no command: none was long
    uint64_t nanos = 0;
    uint64_t reportedAt = 0;
    uint64_t unreported = 0;  // passes since then
};
thread_local PassReport report;

}  // namespace

bool isSlow(const Invocation& call, const OperationEnd& end) {
    const ParameterValues& values = call.services.parameters;
    return end.millis() >= ParameterValues::get(values.slowOpThresholdMs) && isSampled(values);
}

bson::OwnedDocument presentedCommand(const Invocation& call) {
    if (isModification(call)) {
        const bool isUpdate = call.command.kind == OpKind::kUpdate;
        const StatusOr<std::vector<bson::Document>> statements =
            call.documents(isUpdate ? "updates" : "deletes");
        if (statements.isOk() && statements->size() == 1) {
            return presentable(call.command, statements->front());
        }
    }
    return presentable(call.command, call.body());
}

void logSlow(const Invocation& call, const OperationEnd& end) {
    const std::string_view type =
        isModification(call) ? operationKindName(call.command.kind) : "command";
    telemetry::LogAttributes attr{{"type", type},
                                  {"isFromUserConnection", true},
                                  {"ns", namespaceOf(call.command, call.body(), call.generic.db)}};
    if (std::string app = call.connection.appName(); !app.empty()) {
        attr.emplace_back("appName", app);
    }
    attr.emplace_back("command", json(presentedCommand(call).view()));
    addWork(call.stats, &attr);
    if (!end.status.isOk()) {
        const WireError error = wireErrorOf(end.status);
        attr.emplace_back("ok", 0);
        attr.emplace_back("errMsg", end.status.text());
        attr.emplace_back("errName", error.name);
        attr.emplace_back("errCode", error.code);
    }
    attr.emplace_back("reslen", end.replyBytes);
    attr.emplace_back("locks", json({}));
    attr.emplace_back("remote", call.client.remote);
    attr.emplace_back("protocol", "op_msg");
    attr.emplace_back("durationMillis", end.millis());
    const telemetry::LogContext context("conn" + std::to_string(call.client.connectionId));
    telemetry::log(
        telemetry::Severity::kInfo,
        isModification(call) ? telemetry::Component::kWrite : telemetry::Component::kCommand,
        telemetry::LogId::kSlowQuery,
        "Slow query",
        attr);
}

OperationNames LongPasses::namesOf(const Invocation& call) {
    return {std::string(call.command.name),
            namespaceOf(call.command, call.body(), call.generic.db),
            call.connection.connectionId()};
}

void LongPasses::keep(OperationNames names, uint64_t nowNanos) {
    if (elapsed(nowNanos) > report.nanos) {
        report.nanos = elapsed(nowNanos);
        report.longest = std::move(names);
    }
}

void LongPasses::tell(uint64_t nanos) {
    const uint64_t now = platform::monotonicNanos();
    if (running_ != nullptr) {
        keep(running_->running(), now);
    }
    const OperationNames longest = std::exchange(report.longest, {});
    report.nanos = 0;
    if (report.reportedAt != 0 && now - report.reportedAt < kReportEveryNanos) {
        ++report.unreported;
        return;
    }
    report.reportedAt = now;
    telemetry::log(telemetry::Severity::kWarning,
                   telemetry::Component::kCommand,
                   telemetry::LogId::kLongPass,
                   "A command has held up other connections",
                   {{"passMillis", nanos / kNanosPerMs},
                    {"command", longest.command},
                    {"ns", longest.ns},
                    {"connectionId", longest.connectionId},
                    {"untoldPasses", std::exchange(report.unreported, 0)}});
}

}  // namespace freshet::command
