// SPDX-License-Identifier: Apache-2.0
#include "freshet/command/run/parameters.h"

#include "freshet/command/start_parameters.h"

#include <algorithm>
#include <charconv>

namespace freshet::command {
namespace {

constexpr int64_t kIntMax = INT32_MAX;
constexpr int64_t kBytesMax = INT64_MAX / 4;

Status badParameter(const Parameter& parameter, std::string_view why) {
    return badValue("Invalid value for parameter " + std::string(parameter.name) + ": " +
                    std::string(why));
}

StatusOr<int64_t> numberOf(const Parameter& parameter, const bson::Element& value) {
    const bool isBool = parameter.kind == Parameter::Kind::kBool;
    int64_t number = 0;
    if (value.isString()) {
        const std::string_view text = value.stringValue();
        if (isBool && (text == "true" || text == "false")) {
            return int64_t{text == "true"};
        }
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
        if (error != std::errc() || end != text.data() + text.size()) {
            return badParameter(parameter, "'" + std::string(text) + "' is not a number");
        }
    } else if (value.type() == bson::Type::kBool) {
        number = value.boolValue() ? 1 : 0;
    } else if (value.isNumber()) {
        number = value.toInt64();
    } else {
        return invalid(Reason::kTypeMismatch,
                       "Parameter " + std::string(parameter.name) + " cannot have the type '" +
                           std::string(bson::typeName(value.type())) + "'");
    }
    return isBool ? int64_t{number != 0} : number;
}

using Kind = Parameter::Kind;
using Values = ParameterValues;

/// What operations may hold in memory.
std::vector<Parameter> memoryParameters() {
    return {
        {"allowDiskUseByDefault",
         Kind::kBool,
         Settable::kBoth,
         &Values::allowDiskUseByDefault,
         0,
         1},
        {"internalDocumentSourceBucketAutoMaxMemoryBytes",
         Kind::kLong,
         Settable::kBoth,
         &Values::bucketAutoBytesMax,
         1,
         kBytesMax},
        {"internalDocumentSourceGroupMaxMemoryBytes",
         Kind::kLong,
         Settable::kBoth,
         &Values::groupBytesMax,
         1,
         kBytesMax},
        {"internalQueryJavaScriptFnTimeoutMillis",
         Kind::kInt,
         Settable::kBoth,
         &Values::scriptCallMillis,
         1,
         kIntMax},
        {"internalQueryJavaScriptHeapSizeLimitMB",
         Kind::kInt,
         Settable::kBoth,
         &Values::scriptHeapMegabytes,
         8,
         4'000},
        {"internalQueryMaxAddToSetBytes",
         Kind::kInt,
         Settable::kBoth,
         &Values::addToSetBytesMax,
         1,
         kIntMax},
        {"internalQueryMaxBlockingSortMemoryUsageBytes",
         Kind::kLong,
         Settable::kBoth,
         &Values::sortBytesMax,
         0,
         kBytesMax},
        {"internalQueryMaxPushBytes",
         Kind::kInt,
         Settable::kBoth,
         &Values::pushBytesMax,
         1,
         kIntMax},
    };
}

std::vector<Parameter> otherParameters() {
    return {
        {"cursorTimeoutMillis",
         Kind::kLong,
         Settable::kBoth,
         &Values::cursorTimeoutMillis,
         1,
         INT64_MAX / 1'000'000},
        {"enableLocalhostAuthBypass",
         Kind::kBool,
         Settable::kAtStartup,
         &Values::enableLocalhostAuthBypass,
         0,
         1},
        {"enableTestCommands",
         Kind::kBool,
         Settable::kAtStartup,
         &Values::enableTestCommands,
         0,
         1},
        {"holdCommitsUntilDurable",
         Kind::kBool,
         Settable::kAtStartup,
         &Values::holdCommitsUntilDurable,
         0,
         1},
        {"journalCommitInterval",
         Kind::kInt,
         Settable::kAtStartup,
         &Values::journalCommitInterval,
         1,
         500},
        {"localLogicalSessionTimeoutMinutes",
         Kind::kInt,
         Settable::kAtStartup,
         &Values::sessionTimeoutMinutes,
         1,
         kIntMax},
        {"logLevel", Kind::kInt, Settable::kBoth, &Values::logLevel, 0, 5},
        {"periodicNoopIntervalSecs",
         Kind::kInt,
         Settable::kAtStartup,
         &Values::periodicNoopIntervalSecs,
         1,
         10},
        {kSnapshotHistoryParameter,
         Kind::kInt,
         Settable::kBoth,
         &Values::snapshotHistorySeconds,
         0,
         kIntMax},
        {"quiet", Kind::kBool, Settable::kNowhere, &Values::quiet, 0, 1},
        {"requireApiVersion", Kind::kBool, Settable::kBoth, &Values::requireApiVersion, 0, 1},
        {"transactionLifetimeLimitSeconds",
         Kind::kInt,
         Settable::kBoth,
         &Values::transactionLifetimeLimitSeconds,
         1,
         kIntMax},
        {"ttlMonitorEnabled", Kind::kBool, Settable::kBoth, &Values::ttlMonitorEnabled, 0, 1},
        {"ttlMonitorSleepSecs",
         Kind::kInt,
         Settable::kBoth,
         &Values::ttlMonitorSleepSecs,
         1,
         kIntMax},
        {"writePeriodicNoops", Kind::kBool, Settable::kBoth, &Values::writePeriodicNoops, 0, 1},
    };
}

}  // namespace

const std::vector<Parameter>& parameters() {
    static const std::vector<Parameter> all = [] {
        std::vector<Parameter> both = memoryParameters();
        const std::vector<Parameter> others = otherParameters();
        both.insert(both.end(), others.begin(), others.end());
        std::sort(both.begin(), both.end(), [](const Parameter& a, const Parameter& b) {
            return a.name < b.name;
        });
        return both;
    }();
    return all;
}

const Parameter* findParameter(std::string_view name) {
    const std::vector<Parameter>& all = parameters();
    auto found = std::find_if(
        all.begin(), all.end(), [&](const Parameter& one) { return one.name == name; });
    return found == all.end() ? nullptr : &*found;
}

void addParameterValue(const Parameter& parameter,
                       const ParameterValues& values,
                       std::string_view name,
                       bson::Builder* out) {
    const int64_t value = ParameterValues::get(values.*parameter.value);
    switch (parameter.kind) {
        case Parameter::Kind::kBool:
            out->add(name, value != 0);
            break;
        case Parameter::Kind::kInt:
            out->add(name, static_cast<int32_t>(value));
            break;
        case Parameter::Kind::kLong:
            out->add(name, value);
            break;
    }
}

Status setParameterValue(const Parameter& parameter,
                         const bson::Element& value,
                         ParameterValues* values) {
    FRESHET_ASSIGN_OR_RETURN(const int64_t number, numberOf(parameter, value));
    if (number < parameter.least || number > parameter.most) {
        const bool isLow = number < parameter.least;
        return badParameter(parameter,
                            std::to_string(number) + " is not " +
                                (isLow ? "greater than or equal to " : "less than or equal to ") +
                                std::to_string(isLow ? parameter.least : parameter.most));
    }
    ParameterValues::set(values->*parameter.value, number);
    return Status::ok();
}

Status checkStartParameter(std::string_view name, std::string_view text) {
    const Parameter* parameter = findParameter(name);
    if (parameter == nullptr || parameter->settable == Settable::kAtRuntime ||
        parameter->settable == Settable::kNowhere) {
        return badValue("Illegal --setParameter parameter: \"" + std::string(name) + "\"");
    }
    bson::Builder holder;
    holder.add("", text);
    const bson::OwnedDocument value(holder.finish());
    ParameterValues scratch;
    return setParameterValue(*parameter, *value.view().begin(), &scratch);
}

}  // namespace freshet::command
