// SPDX-License-Identifier: Apache-2.0
#include "freshet/command/diag/log_levels.h"

#include "freshet/command/run/fields.h"
#include "freshet/telemetry/log.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

namespace freshet::command {
namespace {

using telemetry::Component;

constexpr int64_t kLevelMax = 5;

/// Components of mongod without a counterpart here: scripts may set their levels, but nothing is
/// logged there.
constexpr std::string_view kForeign[] = {"assert",
                                         "executor",
                                         "ftdc",
                                         "geo",
                                         "network.asio",
                                         "network.bridge",
                                         "network.connectionPool",
                                         "processHealth",
                                         "query.optimizer",
                                         "queryStats",
                                         "replication.election",
                                         "replication.heartbeats",
                                         "replication.initialSync",
                                         "replication.rollback",
                                         "sharding.migration",
                                         "sharding.rangeDeleter",
                                         "sharding.shardingCatalogRefresh",
                                         "tenantMigration",
                                         "test",
                                         "tracking"};

bool isForeign(std::string_view path) {
    return std::find(std::begin(kForeign), std::end(kForeign), path) != std::end(kForeign);
}

using Levels = std::vector<std::pair<Component, int>>;

/// Adds the levels that `tree`, for the component at `path`, sets to `*levels`.
Status readLevels(bson::Document tree, const std::string& path, Levels* levels) {
    const StatusOr<Component> component = telemetry::componentByName(path);
    if (!component.isOk() && !isForeign(path)) {
        return badValue("Invalid component name " + path);
    }
    for (const bson::Element& element : tree) {
        const std::string name(element.name());
        if (element.isObject()) {
            FRESHET_RETURN_IF_ERROR(
                readLevels(element.document(), path.empty() ? name : path + "." + name, levels));
            continue;
        }
        int64_t level = 0;
        if (name != "verbosity") {
            return badValue("Invalid value for log component " + name + ": expected an object");
        }
        if (!element.toExactInt64(&level) || level < -1 || level > kLevelMax) {
            return badValue("Invalid verbosity of log component '" + path +
                            "': expected an integer from -1 to 5");
        }
        if (component.isOk()) {
            levels->emplace_back(*component, static_cast<int>(level));
        }
    }
    return Status::ok();
}

bool isBelow(std::string_view part, std::string_view whole) {
    return part.size() > whole.size() && part.starts_with(whole) && part[whole.size()] == '.';
}

void addLevel(Component component, bson::Builder* out) {
    out->add("verbosity", static_cast<int32_t>(telemetry::verbosity(component)));
}

}  // namespace

void addLogLevels(std::string_view name, bson::Builder* out) {
    auto tree = out->object(name);
    addLevel(Component::kDefault, &tree);
    for (size_t i = 1; i < telemetry::kComponents; ++i) {
        const std::string_view whole = telemetry::componentName(static_cast<Component>(i));
        if (whole.find('.') != whole.npos) {
            continue;  // it is inside another one
        }
        auto entry = tree.object(whole);
        addLevel(static_cast<Component>(i), &entry);
        for (size_t inner = 1; inner < telemetry::kComponents; ++inner) {
            const std::string_view part = telemetry::componentName(static_cast<Component>(inner));
            if (isBelow(part, whole)) {
                auto below = entry.object(part.substr(whole.size() + 1));
                addLevel(static_cast<Component>(inner), &below);
            }
        }
    }
}

Status setLogLevels(const bson::Element& tree, ParameterValues* values, bson::Builder* reply) {
    if (!tree.isObject()) {
        return invalid(Reason::kTypeMismatch, "log component verbosity is not a BSON object");
    }
    Levels levels;
    FRESHET_RETURN_IF_ERROR(readLevels(tree.document(), "", &levels));
    if (reply != nullptr) {
        addLogLevels("was", reply);
    }
    for (const auto& [component, level] : levels) {
        telemetry::setVerbosity(component, level);
    }
    ParameterValues::set(values->logLevel, telemetry::verbosity(Component::kDefault));
    return Status::ok();
}

}  // namespace freshet::command
