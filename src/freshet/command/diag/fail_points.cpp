// SPDX-License-Identifier: Apache-2.0
/// Commands for tests, with enableTestCommands only: configureFailPoint and sleep.
#include "freshet/command/run/invocation.h"
#include "freshet/command/run/tables.h"
#include "freshet/telemetry/fail_point.h"
#include "freshet/telemetry/log.h"

#include <algorithm>

namespace freshet::command {
namespace {

using telemetry::FailMode;
using telemetry::FailPointSetting;

constexpr int64_t kSleepMsMax = 24 * 3'600'000;

/// The field that counts: the first that is there of these. Drivers send several.
bson::Element modeField(bson::Document mode) {
    for (const char* name : {"times", "skip", "activationProbability"}) {
        if (const bson::Element field = mode.find(name); !field.isMissing()) {
            return field;
        }
    }
    return mode.isEmpty() ? bson::Element() : *mode.begin();
}

Status parseModeObject(bson::Document mode, FailPointSetting* out) {
    const bson::Element what = modeField(mode);
    if (what.isMissing() || !what.isNumber()) {
        return invalid(Reason::kFailedToParse, "invalid mode object");
    }
    if (what.name() == "activationProbability") {
        out->mode = FailMode::kRandom;
        out->probability = what.toDouble();
        return out->probability >= 0.0 && out->probability <= 1.0
                   ? Status::ok()
                   : badValue("activationProbability must be between 0.0 and 1.0; found " +
                              std::to_string(out->probability));
    }
    if (what.name() != "times" && what.name() != "skip") {
        return badValue(
            "mode must be one of [off, alwaysOn, times, skip, activationProbability]; "
            "found " +
            std::string(what.name()));
    }
    out->mode = what.name() == "times" ? FailMode::kTimes : FailMode::kSkip;
    out->count = what.toInt64();
    if (out->count < 0) {
        return badValue("'" + std::string(what.name()) + "' option to 'mode' must be positive");
    }
    if (out->mode == FailMode::kTimes && out->count == 0) {
        out->mode = FailMode::kOff;
    }
    return Status::ok();
}

StatusOr<FailPointSetting> parseSetting(bson::Document body) {
    FailPointSetting setting;
    const bson::Element mode = body.find("mode");
    if (mode.isString()) {
        if (mode.stringValue() != "off" && mode.stringValue() != "alwaysOn") {
            return badValue("unknown mode: " + std::string(mode.stringValue()));
        }
        setting.mode = mode.stringValue() == "off" ? FailMode::kOff : FailMode::kAlwaysOn;
    } else if (mode.isObject()) {
        FRESHET_RETURN_IF_ERROR(parseModeObject(mode.document(), &setting));
    } else if (mode.isMissing()) {
        return invalid(Reason::kIllegalOperation,
                       "When setting a failpoint, you must supply a "
                       "'mode'");
    } else {
        return invalid(Reason::kTypeMismatch, "'mode' must be a string or JSON object");
    }
    const bson::Element data = body.find("data");
    if (!data.isMissing() && !data.isObject()) {
        return invalid(Reason::kTypeMismatch, "'data' must be a JSON object");
    }
    setting.data =
        bson::OwnedDocument(data.isObject() ? data.document() : bson::Document()).bytes();
    return setting;
}

sync::Task<Status> runConfigureFailPoint(Invocation& call) {
    Fields fields(call.body(), "configureFailPoint");
    const std::string name(fields.requiredString("configureFailPoint"));
    FRESHET_CO_RETURN_IF_ERROR(fields.status());
    telemetry::FailPoint* point = telemetry::findFailPoint(name);
    if (point == nullptr) {
        co_return invalid(Reason::kFailPointSetFailed, name + " not found");
    }
    StatusOr<FailPointSetting> setting = parseSetting(call.body());
    FRESHET_CO_RETURN_IF_ERROR(setting.status());
    call.reply.add("count", static_cast<int64_t>(point->configure(std::move(*setting))));
    telemetry::logWarning("command", "Set failpoint " + name);
    co_return Status::ok();
}

/// {sleep: 1, millis: n} or {secs: n}: an operation that takes long and can be killed.
sync::Task<Status> runSleep(Invocation& call) {
    Fields fields(call.body(), "sleep");
    int64_t millis = fields.integer("millis", 0, 0);
    millis += std::min(fields.integer("secs", 0, 0), kSleepMsMax) * 1'000;
    millis += std::min(fields.integer("seconds", 0, 0), kSleepMsMax) * 1'000;
    fields.string("lock");
    FRESHET_CO_RETURN_IF_ERROR(fields.status());
    co_return co_await sleepOrStop(call, static_cast<uint64_t>(std::min(millis, kSleepMsMax)));
}

/// Returns the command as it was received.
sync::Task<Status> runEcho(Invocation& call) {
    call.reply.add("echo", call.body());
    co_return Status::ok();
}

/// Does nothing: drivers' tests need a command that exists and is outside API Version 1.
sync::Task<Status> runTestVersion2(Invocation&) {
    co_return Status::ok();
}

}  // namespace

CommandTable testCommands() {
    return {
        {
            .name = "configureFailPoint",
            .aliases = {},
            .help = "make a named place fail",
            .fields = {"mode", "data"},
            .handler = runConfigureFailPoint,
            .access = Access::onCluster(Action::kTestCommand),
            .adminOnly = true,
            .testOnly = true,
        },
        {
            .name = "sleep",
            .aliases = {},
            .help = "do nothing for a while",
            .fields = {"millis", "secs", "seconds", "lock", "lockTarget", "w"},
            .handler = runSleep,
            .access = Access::onCluster(Action::kTestCommand),
            .adminOnly = true,
            .readOnly = true,
            .testOnly = true,
        },
        {
            .name = "echo",
            .aliases = {},
            .help = "answer with the request",
            .fields = {},
            .handler = runEcho,
            .access = Access::onCluster(Action::kTestCommand),
            .acceptsUnknownFields = true,
            .readOnly = true,
            .testOnly = true,
        },
        {
            .name = "testVersion2",
            .aliases = {},
            .help = "do nothing, outside API Version 1",
            .fields = {},
            .handler = runTestVersion2,
            .access = Access::loggedIn(),
            .readOnly = true,
            .testOnly = true,
        },
    };
}

}  // namespace freshet::command
