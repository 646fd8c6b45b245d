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

void addIfKnown(std::string_view name, int64_t value, bson::Builder* out) {
    if (value >= 0) {
        out->add(name, value);
    }
}

}  // namespace

void logIfSlow(const Invocation& call, const Status& status, uint64_t micros, size_t replyBytes) {
    const ParameterValues& values = call.services.parameters;
    const auto millis = static_cast<int64_t>(micros / 1'000);
    if (millis < ParameterValues::get(values.slowOpThresholdMs) || !isSampled(values)) {
        return;
    }
    bson::Builder attr;
    attr.add("type", "command").add("isFromUserConnection", true);
    attr.add("ns", namespaceOf(call.command, call.body(), call.generic.db));
    if (const std::string app = call.connection.appName(); !app.empty()) {
        attr.add("appName", app);
    }
    attr.add("command", presentable(call.command, call.body()).view());
    const OperationStats& stats = call.stats;
    if (!stats.planSummary.empty()) {
        attr.add("planSummary", stats.planSummary);
    }
    addIfKnown("keysExamined", stats.keysExamined, &attr);
    addIfKnown("docsExamined", stats.docsExamined, &attr);
    if (stats.sortsInMemory) {
        attr.add("hasSortStage", true);
    }
    if (stats.cursorId != 0) {
        attr.add("cursorid", stats.cursorId);
    }
    addIfKnown("nreturned", stats.nReturned, &attr);
    if (!status.isOk()) {
        const WireError error = wireErrorOf(status);
        attr.add("ok", int32_t{0}).add("errMsg", status.text());
        attr.add("errName", error.name).add("errCode", error.code);
    }
    attr.add("reslen", static_cast<int64_t>(replyBytes));
    attr.object("locks");
    attr.add("remote", call.client.remote).add("protocol", "op_msg");
    attr.add("durationMillis", millis);
    const bson::OwnedDocument document(attr.finish());
    telemetry::logInfo(
        "command",
        "Slow query, id " + std::to_string(kSlowQueryId) + ": " + bson::toJson(document.view()));
}

}  // namespace freshet::command
