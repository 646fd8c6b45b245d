// SPDX-License-Identifier: Apache-2.0
/// The words of the query language, from the tables that its parsers use: for tests and fuzzers
/// that must reach every one of them. Any thread.
#pragma once

#include <span>
#include <string_view>
#include <vector>

namespace freshet::query {

struct Word {
    std::string_view name;
    /// Of an operator with named arguments, those that it must have first.
    std::vector<std::string_view> arguments = {};
    /// How many arguments an expression takes; 0 and 0 where the word's own parser decides.
    int argumentsMin = 0;
    int argumentsMax = 0;
};
using Words = std::vector<Word>;

/// Of a pipeline, sources and sinks too.
Words stageWords();
/// Of expressions.
Words expressionWords();
/// Of $group and its kin.
Words accumulatorWords();
/// Of updates that are no pipelines.
Words updateWords();
/// Of filters: on a path, and on whole documents ($and, $expr ...).
Words filterWords();
Words documentFilterWords();
/// Of find's projection, besides those of expressions.
Words projectionWords();
/// Keywords of $jsonSchema.
Words schemaWords();

/// Appends the names of a table whose rows have one.
template <typename Table>
void addWords(const Table& table, Words* out) {
    for (const auto& row : table) {
        out->push_back({.name = row.name});
    }
}

}  // namespace freshet::query
