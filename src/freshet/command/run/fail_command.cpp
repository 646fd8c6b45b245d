// SPDX-License-Identifier: Apache-2.0
#include "freshet/command/run/fail_command.h"

#include "freshet/command/reply/envelope.h"
#include "freshet/platform/thread.h"
#include "freshet/telemetry/fail_point.h"

#include <algorithm>

namespace freshet::command {
namespace {

telemetry::FailPoint failCommand("failCommand");

constexpr uint64_t kBlockMsMax = 3'600'000;

/// "isMaster" and "ismaster" are the same command, "hello" is another.
bool equalsIgnoringCase(std::string_view a, std::string_view b) {
    auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](char x, char y) {
        return lower(x) == lower(y);
    });
}

bool names(bson::Document data, std::string_view command) {
    const bson::Element list = data.find("failCommands");
    if (!list.isArray()) {
        return false;
    }
    for (const bson::Element& name : list.document()) {
        if (name.isString() && equalsIgnoringCase(name.stringValue(), command)) {
            return true;
        }
    }
    return false;
}

/// The connection's, or the one that this command, its first hello, is going to set.
std::string appNameOf(const Invocation& call) {
    std::string name = call.connection.appName();
    if (name.empty() && call.command.name == "hello") {
        const bson::Element sent = call.body().findPath("client.application.name");
        name = sent.isString() ? std::string(sent.stringValue()) : std::string();
    }
    return name;
}

bool isMeant(const Invocation& call, const std::string& bytes) {
    const bson::Document data(bytes.data());
    // By the name that was sent: to the tests, aliases are separate commands.
    if (!names(data, call.body().begin()->name())) {
        return false;
    }
    const bson::Element appName = data.find("appName");
    if (appName.isString() && appNameOf(call) != appName.stringValue()) {
        return false;
    }
    const bson::Element ns = data.find("namespace");
    return !ns.isString() ||
           namespaceOf(call.command, call.body(), call.generic.db) == ns.stringValue();
}

}  // namespace

bool FailCommand::closesConnection() const {
    return data != nullptr && view().find("closeConnection").isTruthy();
}

bool FailCommand::blamesWriteConcern() const {
    return data != nullptr && view().find("writeConcernError").isObject();
}

void FailCommand::blameWriteConcern(Invocation& call, bson::Builder* reply) const {
    const bson::Element error = view().find("writeConcernError");
    reply->add(error);
    const auto code = static_cast<int32_t>(error.document().find("code").toInt64());
    addErrorTopology(call.services, code, reply);
    const bson::Element labels = view().find("errorLabels");
    call.hasErrorLabels = labels.isArray();
    if (!call.hasErrorLabels) {
        addErrorLabels(code, call.body(), reply);
    } else if (!labels.document().isEmpty()) {
        reply->add(labels);
    }
}

bool isFailCommandOn() {
    return failCommand.isOn();
}

FailCommand findFailCommand(const Invocation& call) {
    if (call.command.name == "configureFailPoint") {
        return {};  // otherwise it could not be turned off
    }
    return {failCommand.fire([&](const std::string& data) { return isMeant(call, data); })};
}

sync::Task<Status> applyFailCommand(Invocation& call, const FailCommand& fail) {
    const bson::Document data = fail.view();
    if (data.find("blockConnection").isTruthy()) {
        const int64_t ms = std::max<int64_t>(0, data.find("blockTimeMS").toInt64());
        Status status = co_await sleepOrStop(call, std::min<uint64_t>(ms, kBlockMsMax));
        FRESHET_CO_RETURN_IF_ERROR(std::move(status));
    }
    if (const int64_t ms = data.find("holdThreadMS").toInt64(); ms > 0) {
        platform::sleepMillis(std::min<uint64_t>(static_cast<uint64_t>(ms), kBlockMsMax));
    }
    if (fail.closesConnection()) {
        call.endsSession = true;
        co_return Status::ok();
    }
    const bson::Element code = data.find("errorCode");
    if (!code.isNumber() || data.find("writeConcernError").isObject()) {
        co_return Status::ok();
    }
    bson::Builder info;
    if (const bson::Element extra = data.find("errorExtraInfo"); extra.isObject()) {
        info.addFields(extra.document());
    }
    const bson::Element labels = data.find("errorLabels");
    call.hasErrorLabels = labels.isArray();
    if (call.hasErrorLabels && !labels.document().isEmpty()) {
        info.add(labels);
    }
    call.errorInfo = bson::OwnedDocument(info.finish());
    co_return Status(Code::kInvalid,
                     location(static_cast<uint32_t>(code.toInt64())),
                     "Failing command via 'failCommand' failpoint");
}

}  // namespace freshet::command
