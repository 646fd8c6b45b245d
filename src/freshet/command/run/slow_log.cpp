// SPDX-License-Identifier: Apache-2.0
#include "freshet/command/run/slow_log.h"

#include "freshet/bson/json.h"
#include "freshet/command/error_map.h"
#include "freshet/platform/thread.h"
#include "freshet/telemetry/log.h"

namespace freshet::command {
namespace {

constexpr int32_t kSlowQueryId = 51803;
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

}  // namespace

void logIfSlow(const Invocation& call, const Status& status, uint64_t micros, size_t replyBytes) {
    const ParameterValues& values = call.services.parameters;
    const auto millis = static_cast<int64_t>(micros / 1'000);
    const bool isAwaited = call.command.name == "hello";  // it takes as long as the client wishes
    if (isAwaited || millis < ParameterValues::get(values.slowOpThresholdMs) ||
        !isSampled(values)) {
        return;
    }
    telemetry::LogAttributes attr{{"type", "command"},
                                  {"isFromUserConnection", true},
                                  {"ns", namespaceOf(call.command, call.body(), call.generic.db)}};
    if (std::string app = call.connection.appName(); !app.empty()) {
        attr.emplace_back("appName", app);
    }
    attr.emplace_back("command", json(presentable(call.command, call.body()).view()));
    const OperationStats& stats = call.stats;
    if (!stats.planSummary.empty()) {
        attr.emplace_back("planSummary", stats.planSummary);
    }
    addIfKnown("keysExamined", stats.keysExamined, &attr);
    addIfKnown("docsExamined", stats.docsExamined, &attr);
    if (stats.sortsInMemory) {
        attr.emplace_back("hasSortStage", true);
    }
    if (stats.cursorId != 0) {
        attr.emplace_back("cursorid", stats.cursorId);
    }
    addIfKnown("nreturned", stats.nReturned, &attr);
    if (!status.isOk()) {
        const WireError error = wireErrorOf(status);
        attr.emplace_back("ok", 0);
        attr.emplace_back("errMsg", status.text());
        attr.emplace_back("errName", error.name);
        attr.emplace_back("errCode", error.code);
    }
    attr.emplace_back("reslen", replyBytes);
    attr.emplace_back("locks", json({}));
    attr.emplace_back("remote", call.client.remote);
    attr.emplace_back("protocol", "op_msg");
    attr.emplace_back("durationMillis", millis);
    const telemetry::LogContext context("conn" + std::to_string(call.client.connectionId));
    telemetry::log(telemetry::Severity::kInfo,
                   telemetry::Component::kCommand,
                   kSlowQueryId,
                   "Slow query",
                   attr);
}

}  // namespace freshet::command
