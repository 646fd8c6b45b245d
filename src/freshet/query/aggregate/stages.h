// SPDX-License-Identifier: Apache-2.0
/// The stages of a pipeline, each made from its specification. A stage is the state of one run; not
/// thread-safe.
#pragma once

#include "freshet/query/project/tree.h"
#include "freshet/query/transform.h"

#include <memory>
#include <vector>

namespace freshet::query {

using StagePtr = std::unique_ptr<Stage>;
using Documents = std::vector<bson::OwnedDocument>;

inline constexpr size_t kStageBytesMax = 100u * 1024 * 1024;
Status exceededMemory(const char* stage);

/// Each takes `{$name: operand}` and appends the stages it stands for.
Status parseGroup(const bson::Element& spec, std::vector<StagePtr>* out);
Status parseSortByCount(const bson::Element& spec, std::vector<StagePtr>* out);
Status parseUnwind(const bson::Element& spec, std::vector<StagePtr>* out);
Status parseMatch(const bson::Element& spec, std::vector<StagePtr>* out);
Status parseProject(const bson::Element& spec, std::vector<StagePtr>* out);
Status parseAddFields(const bson::Element& spec, std::vector<StagePtr>* out);
Status parseUnset(const bson::Element& spec, std::vector<StagePtr>* out);
Status parseReplaceRoot(const bson::Element& spec, std::vector<StagePtr>* out);
Status parseCount(const bson::Element& spec, std::vector<StagePtr>* out);
Status parseSkip(const bson::Element& spec, std::vector<StagePtr>* out);
Status parseLimit(const bson::Element& spec, std::vector<StagePtr>* out);

StatusOr<SortPattern> parseSortPattern(const bson::Element& spec);
/// `limit`: only that many are asked for; 0 for all.
StagePtr makeSort(SortPattern pattern, int64_t limit);
/// {$limit: n} or {$skip: n}.
StatusOr<int64_t> parseStageNumber(const bson::Element& spec);
/// True for a $group that reads no field of its input: {_id: null, n: {$sum: 1}}.
bool readsNoFields(const bson::Element& groupSpec);

}  // namespace freshet::query
