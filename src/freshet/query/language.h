// SPDX-License-Identifier: Apache-2.0
/// The words of the query language, from the tables that its parsers use: for tests and fuzzers
/// that must reach every word. Any thread.
#pragma once

#include <span>
#include <string_view>
#include <vector>

namespace freshet::query {

struct Word {
    std::string_view name;
    /// The names of an operator's arguments, required ones first.
    std::vector<std::string_view> arguments = {};
    /// How many arguments an expression takes; 0 and 0 if the word's own parser decides.
    int argumentsMin = 0;
    int argumentsMax = 0;
};
using Words = std::vector<Word>;

/// Stages of pipelines, including sources and sinks.
Words stageWords();
/// Operators of expressions.
Words expressionWords();
/// Accumulators of $group and similar stages.
Words accumulatorWords();
/// Operators of updates that are not pipelines.
Words updateWords();
/// Operators of filters: on a path, and on whole documents ($and, $expr ...).
Words filterWords();
Words documentFilterWords();
/// Operators of find's projection, in addition to those of expressions.
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
