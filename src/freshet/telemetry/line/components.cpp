// SPDX-License-Identifier: Apache-2.0
/// Names of components: in lines, in configuration files, and of rooms.
#include "freshet/telemetry/line/json_line.h"

#include <array>

namespace freshet::telemetry {
namespace {

struct Names {
    std::string_view tag;
    std::string_view configName;
    Component parent;
};

constexpr std::array<Names, kComponents> kNames{{
    {"-", "default", Component::kDefault},
    {"ACCESS", "accessControl", Component::kDefault},
    {"COMMAND", "command", Component::kDefault},
    {"CONTROL", "control", Component::kDefault},
    {"INDEX", "index", Component::kDefault},
    {"JOURNAL", "storage.journal", Component::kStorage},
    {"NETWORK", "network", Component::kDefault},
    {"QUERY", "query", Component::kDefault},
    {"RECOVERY", "storage.recovery", Component::kStorage},
    {"REPL", "replication", Component::kDefault},
    {"SHARDING", "sharding", Component::kDefault},
    {"STORAGE", "storage", Component::kDefault},
    {"TXN", "transaction", Component::kDefault},
    {"WRITE", "write", Component::kDefault},
}};

constexpr std::pair<std::string_view, RoomLines> kRooms[] = {
    {"journal", {Component::kJournal, LogId::kFromJournal}},
    {"block", {Component::kStorage, LogId::kFromStorage}},
    {"engine", {Component::kStorage, LogId::kFromStorage}},
    {"transport", {Component::kNetwork, LogId::kFromTransport}},
    {"query", {Component::kQuery, LogId::kFromQuery}},
    {"command", {Component::kCommand, LogId::kFromCommand}},
};

}  // namespace

std::string_view componentTag(Component component) {
    return kNames[static_cast<size_t>(component)].tag;
}

std::string_view componentName(Component component) {
    return kNames[static_cast<size_t>(component)].configName;
}

Component parentOf(Component component) {
    return kNames[static_cast<size_t>(component)].parent;
}

RoomLines linesOfRoom(std::string_view room) {
    for (const auto& [name, lines] : kRooms) {
        if (name == room) {
            return lines;
        }
    }
    return {Component::kDefault, LogId::kFromOthers};
}

StatusOr<Component> componentByName(std::string_view name) {
    for (size_t i = 0; i < kComponents; ++i) {
        if (kNames[i].configName == name) {
            return static_cast<Component>(i);
        }
    }
    return name.empty() ? StatusOr<Component>(Component::kDefault)
                        : Status(Code::kNotFound, "no log component " + std::string(name));
}

}  // namespace freshet::telemetry
