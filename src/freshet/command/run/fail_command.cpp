// SPDX-License-Identifier: Apache-2.0
#include "freshet/command/run/fail_command.h"

#include "freshet/command/reply/envelope.h"
#include "freshet/platform/thread.h"
#include "freshet/telemetry/fail_point.h"

#include <algorithm>

namespace freshet::command {
namespace {

telemetry::FailPoint failCommand("failCommand");
telemetry::FailPoint failGetMore("failGetMoreAfterCursorCheckout");
telemetry::FailPoint alwaysTimeOut("maxTimeAlwaysTimeOut");
telemetry::FailPoint neverTimeOut("maxTimeNeverTimeOut");

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

/// Whether the conditions of `data` besides the command's name hold. failInternalCommands and
/// failLocalClients concern clients that this server does not have: other members, and itself.
bool isMeant(const Invocation& call, bson::Document data, std::string_view ns) {
    const bson::Element appName = data.find("appName");
    if (appName.isString() && appNameOf(call) != appName.stringValue()) {
        return false;
    }
    const bson::Element thread = data.find("threadName");
    if (thread.isString() &&
        thread.stringValue() != "conn" + std::to_string(call.client.connectionId)) {
        return false;
    }
    const bson::Element wanted = data.find("namespace");
    return !wanted.isString() || wanted.stringValue() == ns;
}

/// Data without an effect does not fire, so it does not count as a time.
bool hasEffect(bson::Document data) {
    return data.find("closeConnection").isTruthy() || data.find("blockConnection").isTruthy() ||
           data.find("errorCode").isNumber() || data.find("writeConcernError").isObject() ||
           data.find("holdThreadMS").isNumber();
}

bool isMeant(const Invocation& call, const std::string& bytes) {
    const bson::Document data(bytes.data());
    // By the name that was sent: to the tests, aliases are separate commands.
    return (data.has("failAllCommands") || names(data, call.body().begin()->name())) &&
           hasEffect(data) &&
           isMeant(call, data, namespaceOf(call.command, call.body(), call.generic.db));
}

StatusOr<uint64_t> blockTime(const bson::Element& ms) {
    if (!ms.isNumber()) {
        return invalid(Reason::kInvalidOptions,
                       "must specify 'blockTimeMS' when 'blockConnection' is true");
    }
    if (ms.toInt64() < 0) {
        return invalid(Reason::kInvalidOptions, "'blockTimeMS' must be non-negative");
    }
    return std::min<uint64_t>(static_cast<uint64_t>(ms.toInt64()), kBlockMsMax);
}

Status timedOut() {
    return Status(Code::kTimeout, Reason::kMaxTimeMsExpired, "operation exceeded time limit");
}

/// Whether the command has a time limit and maxTimeAlwaysTimeOut says that it is over.
bool isMeantToTimeOut(const Invocation& call) {
    return call.deadlineNanos != 0 && alwaysTimeOut.isOn() &&
           alwaysTimeOut.fire([](const std::string&) { return true; }) != nullptr;
}

}  // namespace

bool FailCommand::closesConnection() const {
    return data != nullptr && view().find("closeConnection").isTruthy();
}

bool FailCommand::blamesWriteConcern() const {
    return data != nullptr && view().find("writeConcernError").isObject() &&
           !view().find("errorCode").isNumber();
}

void FailCommand::blameWriteConcern(Invocation& call, bson::Builder* reply) const {
    const bson::Element error = view().find("writeConcernError");
    reply->add(error);
    const auto code = static_cast<int32_t>(error.document().find("code").toInt64());
    addErrorTopology(call.services, code, reply);
    const bson::Element labels = view().find("errorLabels");
    call.hasErrorLabels = labels.isArray();
    if (!call.hasErrorLabels) {
        addErrorLabels(code, ErrorOf::kWriteConcern, call.body(), reply);
    } else if (!labels.document().isEmpty()) {
        reply->add(labels);
    }
}

bool mayFail() {
    return failCommand.isOn() || alwaysTimeOut.isOn();
}

bool hasNoTimeLimits() {
    return neverTimeOut.isOn();
}

FailCommand findFailCommand(const Invocation& call) {
    if (call.command.name == "configureFailPoint") {
        return {};  // otherwise it could not be turned off
    }
    FailCommand fail{
        failCommand.fire([&](const std::string& data) { return isMeant(call, data); })};
    fail.timesOut = isMeantToTimeOut(call);
    return fail;
}

Status failGetMoreIfTold(const Invocation& call, std::string_view ns) {
    if (isMeantToTimeOut(call)) {
        return timedOut();
    }
    if (!failGetMore.isOn()) {
        return Status::ok();
    }
    const auto data = failGetMore.fire(
        [&](const std::string& bytes) { return isMeant(call, bson::Document(bytes.data()), ns); });
    if (data == nullptr) {
        return Status::ok();
    }
    const bson::Element code = bson::Document(data->data()).find("errorCode");
    return Status(
        Code::kInvalid,
        code.isNumber() ? location(static_cast<uint32_t>(code.toInt64())) : Reason::kInternalError,
        "Hit the 'failGetMoreAfterCursorCheckout' failpoint");
}

sync::Task<Status> applyFailCommand(Invocation& call, const FailCommand& fail) {
    if (fail.data == nullptr) {
        co_return fail.timesOut ? timedOut() : Status::ok();
    }
    const bson::Document data = fail.view();
    if (data.find("blockConnection").isTruthy()) {
        StatusOr<uint64_t> ms = blockTime(data.find("blockTimeMS"));
        FRESHET_CO_RETURN_IF_ERROR(ms.status());
        Status status = co_await sleepOrStop(call, *ms);
        FRESHET_CO_RETURN_IF_ERROR(std::move(status));
    }
    if (fail.timesOut) {
        co_return timedOut();
    }
    if (const int64_t ms = data.find("holdThreadMS").toInt64(); ms > 0) {
        platform::sleepMillis(std::min<uint64_t>(static_cast<uint64_t>(ms), kBlockMsMax));
    }
    if (fail.closesConnection()) {
        call.endsSession = true;
        co_return Status::ok();
    }
    const bson::Element code = data.find("errorCode");
    if (!code.isNumber()) {
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
