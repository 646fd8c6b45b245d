// SPDX-License-Identifier: Apache-2.0
/// getParameter and setParameter. Most parameters are numbers in a table (run/parameters.h); here
/// are the others.
#include "freshet/command/run/parameters.h"

#include "freshet/command/diag/log_levels.h"
#include "freshet/command/diag/own_documents.h"
#include "freshet/command/run/fail_command.h"
#include "freshet/command/run/invocation.h"
#include "freshet/command/run/tables.h"
#include "freshet/telemetry/fail_point.h"
#include "freshet/telemetry/log.h"

namespace freshet::command {
namespace {

constexpr uint32_t kBadCompatibilityVersion = 4926900;
constexpr uint32_t kUnconfirmed = 7369100;
constexpr std::string_view kFailPointPrefix = "failpoint.";

/// A parameter that is not a number.
struct Shown {
    std::string_view name;
    void (*add)(const Services& services, std::string_view name, bson::Builder* out);
    Settable settable = Settable::kNowhere;
};

constexpr Shown kShown[] = {
    {"authSchemaVersion",
     [](const Services&, std::string_view name, bson::Builder* out) {
         out->add(name, int32_t{5});
     }},
    {"authenticationMechanisms",
     [](const Services& services, std::string_view name, bson::Builder* out) {
         auto list = out->array(name);
         if (services.facts.verifiesCertificates) {
             list.push("MONGODB-X509");
         }
         list.push("SCRAM-SHA-1").push("SCRAM-SHA-256");
     }},
    {"featureCompatibilityVersion",
     [](const Services& services, std::string_view name, bson::Builder* out) {
         out->object(name).add("version", compatibilityVersion(services));
     }},
    {"logComponentVerbosity",
     [](const Services&, std::string_view name, bson::Builder* out) { addLogLevels(name, out); },
     Settable::kAtRuntime},
    {"notablescan",
     [](const Services&, std::string_view name, bson::Builder* out) { out->add(name, false); }},
};

void addFailPoint(const telemetry::FailPoint& point, std::string_view name, bson::Builder* out) {
    const telemetry::FailPointSetting setting = point.setting();
    auto entry = out->object(name);
    entry.add("mode", static_cast<int32_t>(setting.mode));
    entry.add("data",
              setting.data.empty() ? bson::Document() : bson::Document(setting.data.data()));
    entry.add("timesEntered", static_cast<int64_t>(point.timesFired()));
}

/// One answer of getParameter: values by name, with or without details.
class Answer {
public:
    Answer(Invocation& call, bool wantsAll, bool showDetails)
        : call_(call), wantsAll_(wantsAll), showDetails_(showDetails) {}

    template <typename Add>
    void offer(std::string_view name, Settable settable, Add add) {
        if (!wantsAll_ && !call_.body().has(name)) {
            return;
        }
        hasFound_ = true;
        if (!showDetails_) {
            add(name, &call_.reply);
            return;
        }
        auto details = call_.reply.object(name);
        add("value", &details);
        const bool isBoth = settable == Settable::kBoth;
        details.add("settableAtRuntime", isBoth || settable == Settable::kAtRuntime);
        details.add("settableAtStartup", isBoth || settable == Settable::kAtStartup);
    }
    bool hasFound() const { return hasFound_; }

private:
    Invocation& call_;
    const bool wantsAll_;
    const bool showDetails_;
    bool hasFound_ = false;
};

void offerAll(const Services& services, Answer* answer) {
    for (const Parameter& parameter : parameters()) {
        answer->offer(
            parameter.name, parameter.settable, [&](std::string_view name, bson::Builder* out) {
                addParameterValue(parameter, services.parameters, name, out);
            });
    }
    for (const Shown& shown : kShown) {
        answer->offer(shown.name, shown.settable, [&](std::string_view name, bson::Builder* out) {
            shown.add(services, name, out);
        });
    }
    if (!services.facts.enableTestCommands) {
        return;
    }
    for (const telemetry::FailPoint* point : telemetry::allFailPoints()) {
        const std::string name = std::string(kFailPointPrefix) + std::string(point->name());
        answer->offer(name, Settable::kNowhere, [&](std::string_view as, bson::Builder* out) {
            addFailPoint(*point, as, out);
        });
    }
}

sync::Task<Status> runGetParameter(Invocation& call) {
    const bson::Element what = *call.body().begin();
    bool wantsAll = what.isString() && what.stringValue() == "*";
    bool showDetails = false;
    if (what.isObject()) {
        Fields options(what.document(), "getParameter");
        options.allowOnly({"showDetails", "allParameters", "setAt"});
        showDetails = options.boolean("showDetails", false);
        wantsAll = options.boolean("allParameters", false);
        FRESHET_CO_RETURN_IF_ERROR(options.status());
    }
    Answer answer(call, wantsAll, showDetails);
    offerAll(call.services, &answer);
    co_return answer.hasFound() ? Status::ok()
                                : invalid(Reason::kInvalidOptions, "no option found to get");
}

/// Tells other parts of the server about a change at once.
void announce(Services& services, std::string_view name) {
    if (name == "logLevel") {
        telemetry::setVerbosity(
            telemetry::Component::kDefault,
            static_cast<int>(ParameterValues::get(services.parameters.logLevel)));
    }
    if (name == kSnapshotHistoryParameter) {
        services.keepHistory(true);
    }
    services.parametersChanged();
}

Status setOne(Services& services, const bson::Element& element, bson::Builder* reply) {
    const std::string name(element.name());
    if (name == "logComponentVerbosity") {
        return setLogLevels(element, &services.parameters, reply);
    }
    const Parameter* parameter = findParameter(name);
    bool isShown = parameter != nullptr;
    for (const Shown& shown : kShown) {
        isShown |= shown.name == name;
    }
    if (!isShown) {
        return invalid(Reason::kInvalidOptions,
                       "attempted to set unrecognized parameter [" + name +
                           "], use help:true to see options ");
    }
    if (parameter == nullptr || parameter->settable == Settable::kAtStartup ||
        parameter->settable == Settable::kNowhere) {
        return invalid(Reason::kIllegalOperation,
                       "not allowed to change [" + name + "] at runtime");
    }
    if (reply != nullptr) {
        addParameterValue(*parameter, services.parameters, "was", reply);
    }
    FRESHET_RETURN_IF_ERROR(setParameterValue(*parameter, element, &services.parameters));
    announce(services, name);
    return Status::ok();
}

sync::Task<Status> runSetParameter(Invocation& call) {
    bool hasAny = false;
    bool isFirst = true;
    for (const bson::Element& element : call.body()) {
        if (!isFirst && !isGenericArgument(element.name())) {
            Status status = setOne(call.services, element, hasAny ? nullptr : &call.reply);
            FRESHET_CO_RETURN_IF_ERROR(std::move(status));
            hasAny = true;
        }
        isFirst = false;
    }
    co_return hasAny
        ? Status::ok()
        : invalid(Reason::kInvalidOptions, "no option found to set, use help:true to see options ");
}

/// setFeatureCompatibilityVersion: accepts the only version that exists.
sync::Task<Status> runSetFeatureCompatibility(Invocation& call) {
    Fields fields(call.body(), call.command.name);
    const std::string version(fields.requiredString(call.command.name));
    const bool isOfConfigServer = fields.boolean("fromConfigServer", false);
    const bool isConfirmed = fields.boolean("confirm", false) || isOfConfigServer;
    FRESHET_CO_RETURN_IF_ERROR(fields.status());
    const std::string ours = compatibilityVersion(call.services);
    if (version != ours) {
        co_return invalid(location(kBadCompatibilityVersion),
                          "Invalid feature compatibility version value '" + version +
                              "'; expected '" + ours + "'");
    }
    if (!isConfirmed) {
        co_return invalid(
            location(kUnconfirmed),
            "Once you have downgraded the FCV, if you choose to downgrade the binary version, it "
            "will require support assistance. Please re-run this command with 'confirm: true' to "
            "acknowledge this and continue with the FCV downgrade.");
    }
    co_return Status::ok();
}

}  // namespace

CommandTable parameterCommands() {
    return {
        {
            .name = "getParameter",
            .aliases = {},
            .help = "values of server parameters; '*' for all",
            .fields = {},
            .handler = runGetParameter,
            .access = Access::onCluster(Action::kGetParameter),
            .acceptsUnknownFields = true,  // the names of parameters are fields
            .adminOnly = true,
            .readOnly = true,
        },
        {
            .name = "setParameter",
            .aliases = {},
            .help = "change server parameters",
            .fields = {},
            .handler = runSetParameter,
            .access = Access::onCluster(Action::kSetParameter),
            .acceptsUnknownFields = true,
            .adminOnly = true,
        },
        {
            .name = "setFeatureCompatibilityVersion",
            .aliases = {},
            .help = "the version whose features are in use; it cannot change",
            .fields = {"confirm", "fromConfigServer"},
            .handler = runSetFeatureCompatibility,
            .access = Access::onCluster(Action::kSetFeatureCompatibilityVersion),
            .adminOnly = true,
        },
    };
}

}  // namespace freshet::command
