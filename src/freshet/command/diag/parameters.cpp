// SPDX-License-Identifier: Apache-2.0
/// getParameter: the server's parameters by name. None can be changed while it runs.
#include "freshet/command/run/invocation.h"
#include "freshet/command/run/tables.h"

namespace freshet::command {
namespace {

struct Parameter {
    std::string_view name;
    void (*add)(const Services& services, std::string_view name, bson::Builder* out);
    bool atStartup;  // may be given on the command line
};

void addFeatureCompatibility(const Services&, std::string_view name, bson::Builder* out) {
    out->object(name).add("version", "7.0");
}
void addTestCommands(const Services& services, std::string_view name, bson::Builder* out) {
    out->add(name, services.facts.enableTestCommands);
}
void addCommitInterval(const Services& services, std::string_view name, bson::Builder* out) {
    out->add(name, static_cast<int32_t>(services.facts.journalCommitIntervalMs));
}
void addCursorTimeout(const Services&, std::string_view name, bson::Builder* out) {
    out->add(name, static_cast<int64_t>(kCursorIdleMsMax));
}
void addSessionTimeout(const Services&, std::string_view name, bson::Builder* out) {
    out->add(name, kSessionTimeoutMinutes);
}
void addRequireApiVersion(const Services&, std::string_view name, bson::Builder* out) {
    out->add(name, false);
}
void addMechanisms(const Services&, std::string_view name, bson::Builder* out) {
    out->array(name);
}

constexpr Parameter kParameters[] = {
    {"authenticationMechanisms", addMechanisms, false},
    {"cursorTimeoutMillis", addCursorTimeout, false},
    {"enableTestCommands", addTestCommands, true},
    {"featureCompatibilityVersion", addFeatureCompatibility, false},
    {"journalCommitInterval", addCommitInterval, true},
    {"localLogicalSessionTimeoutMinutes", addSessionTimeout, false},
    {"requireApiVersion", addRequireApiVersion, false},
};

void addParameter(const Invocation& call,
                  const Parameter& parameter,
                  bool showDetails,
                  bson::Builder* reply) {
    if (!showDetails) {
        parameter.add(call.services, parameter.name, reply);
        return;
    }
    auto details = reply->object(parameter.name);
    parameter.add(call.services, "value", &details);
    details.add("settableAtRuntime", false).add("settableAtStartup", parameter.atStartup);
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
    bool found = false;
    for (const Parameter& parameter : kParameters) {
        if (wantsAll || call.body().has(parameter.name)) {
            addParameter(call, parameter, showDetails, &call.reply);
            found = true;
        }
    }
    co_return found ? Status::ok() : invalid(Reason::kInvalidOptions, "no option found to get");
}

}  // namespace

CommandTable parameterCommands() {
    return {{
        .name = "getParameter",
        .aliases = {},
        .help = "values of server parameters; '*' for all",
        .fields = {},
        .handler = runGetParameter,
        .access = Access::onCluster(Action::kGetParameter),
        .acceptsUnknownFields = true,  // the names of parameters are fields
        .adminOnly = true,
        .readOnly = true,
    }};
}

}  // namespace freshet::command
