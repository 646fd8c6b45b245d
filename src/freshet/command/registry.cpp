// SPDX-License-Identifier: Apache-2.0
#include "freshet/command/registry.h"

#include "freshet/base/assert.h"
#include "freshet/command/run/tables.h"

#include <algorithm>
#include <iterator>
#include <unordered_map>

namespace freshet::command {

struct Registry::Impl {
    CommandTable commands;
    std::unordered_map<std::string_view, const Command*> byName;
};

Registry::Registry() : impl_(std::make_unique<Impl>()) {
    constexpr CommandTable (*kTables[])() = {
        insertCommands,         updateCommands,       deleteCommands,    findCommands,
        findAndModifyCommands,  explainCommands,      aggregateCommands, cursorCommands,
        collectionCommands,     indexCommands,        listCommands,      helloCommands,
        loginCommands,          userCommands,         userInfoCommands,  parameterCommands,
        sessionCommands,        statusCommands,       serverCommands,    validateCommands,
        testCommands,           renameCommands,       modifyCommands,    sizeCommands,
        replicaSetCommands,     serverStatusCommands, upkeepCommands,    operationCommands,
        mergeUsersCommands,     profileCommands,      hashCommands,      mapReduceCommands,
        languageCommands,       transactionCommands,  bulkWriteCommands, searchIndexCommands,
        defaultConcernCommands, applyOpsCommands,     noteCommands,
    };
    CommandTable& all = impl_->commands;
    for (auto table : kTables) {
        CommandTable part = table();
        std::move(part.begin(), part.end(), std::back_inserter(all));
    }
    std::sort(all.begin(), all.end(), [](auto& a, auto& b) { return a.name < b.name; });
    for (const Command& command : all) {
        bool isNew = impl_->byName.emplace(command.name, &command).second;
        invariant(isNew && command.handler != nullptr);
        for (std::string_view alias : command.aliases) {
            isNew = impl_->byName.emplace(alias, &command).second;
            invariant(isNew);
        }
    }
}

Registry::~Registry() = default;

const Command* Registry::find(std::string_view name) const {
    auto found = impl_->byName.find(name);
    return found == impl_->byName.end() ? nullptr : found->second;
}

const std::vector<Command>& Registry::commands() const {
    return impl_->commands;
}

}  // namespace freshet::command
