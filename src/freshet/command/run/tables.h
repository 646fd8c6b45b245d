// SPDX-License-Identifier: Apache-2.0
/// The parts of the registry: each closet's files bring their commands. A new file of commands adds
/// one line here and one in registry.cpp.
#pragma once

#include "freshet/command/registry.h"

namespace freshet::command {

using CommandTable = std::vector<Command>;

CommandTable insertCommands();
CommandTable updateCommands();
CommandTable deleteCommands();
CommandTable bulkWriteCommands();
CommandTable findCommands();
CommandTable findAndModifyCommands();
CommandTable explainCommands();
CommandTable aggregateCommands();
CommandTable applyOpsCommands();
CommandTable noteCommands();
CommandTable cursorCommands();
CommandTable mapReduceCommands();
CommandTable collectionCommands();
CommandTable indexCommands();
CommandTable listCommands();
CommandTable helloCommands();
CommandTable loginCommands();
CommandTable userCommands();
CommandTable mergeUsersCommands();
CommandTable userInfoCommands();
CommandTable parameterCommands();
CommandTable sessionCommands();
CommandTable transactionCommands();
CommandTable statusCommands();
CommandTable serverCommands();
CommandTable validateCommands();
CommandTable testCommands();
CommandTable renameCommands();
CommandTable modifyCommands();
CommandTable sizeCommands();
CommandTable replicaSetCommands();
CommandTable serverStatusCommands();
CommandTable upkeepCommands();
CommandTable operationCommands();
CommandTable profileCommands();
CommandTable hashCommands();
CommandTable languageCommands();
CommandTable searchIndexCommands();
CommandTable defaultConcernCommands();

/// What an index specification may have.
std::vector<std::string_view> indexOptionNames();

}  // namespace freshet::command
