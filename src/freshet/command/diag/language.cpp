// SPDX-License-Identifier: Apache-2.0
/// listLanguage, with enableTestCommands only: every command with its fields and every word of the
/// query language, from the tables that parse them. Generated tests use the answer, so a new word
/// is tested without being added there.
#include "freshet/query/language.h"

#include "freshet/command/run/arguments.h"
#include "freshet/command/run/invocation.h"
#include "freshet/command/run/tables.h"

namespace freshet::command {
namespace {

using query::Word;

struct WordKind {
    std::string_view name;
    query::Words (*words)();
};

constexpr WordKind kWordKinds[] = {
    {"stages", query::stageWords},
    {"expressions", query::expressionWords},
    {"accumulators", query::accumulatorWords},
    {"updates", query::updateWords},
    {"filters", query::filterWords},
    {"documentFilters", query::documentFilterWords},
    {"projections", query::projectionWords},
    {"schema", query::schemaWords},
};

void addNames(std::string_view field,
              const std::vector<std::string_view>& names,
              bson::Builder* out) {
    auto list = out->array(field);
    for (const std::string_view name : names) {
        list.push(name);
    }
}

void addWord(const Word& word, bson::Builder* out) {
    auto entry = out->object(out->nextIndex());
    entry.add("name", word.name);
    addNames("arguments", word.arguments, &entry);
    entry.add("argumentsMin", word.argumentsMin);
    entry.add("argumentsMax", word.argumentsMax);
}

sync::Task<Status> runListLanguage(Invocation& call) {
    {
        auto commands = call.reply.array("commands");
        for (const Command& command : call.services.registry.commands()) {
            auto entry = commands.object(commands.nextIndex());
            entry.add("name", command.name);
            entry.add("adminOnly", command.adminOnly);
            addNames("fields", command.fields, &entry);
        }
    }
    addNames("genericArguments", genericArgumentNames(), &call.reply);
    addNames("indexOptions", indexOptionNames(), &call.reply);
    for (const WordKind& kind : kWordKinds) {
        auto list = call.reply.array(kind.name);
        for (const Word& word : kind.words()) {
            addWord(word, &list);
        }
    }
    co_return Status::ok();
}

}  // namespace

CommandTable languageCommands() {
    return {
        {
            .name = "listLanguage",
            .aliases = {},
            .help = "the words of commands, pipelines, filters, updates and schemas",
            .fields = {},
            .handler = runListLanguage,
            .access = Access::onCluster(Action::kTestCommand),
            .adminOnly = true,
            .readOnly = true,
            .testOnly = true,
        },
    };
}

}  // namespace freshet::command
