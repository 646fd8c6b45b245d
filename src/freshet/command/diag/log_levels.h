// SPDX-License-Identifier: Apache-2.0
/// The parameter logComponentVerbosity: how much the parts of the server log, as a tree
/// {verbosity: n, storage: {verbosity: n, journal: {verbosity: n}}, ...}.
#pragma once

#include "freshet/bson/builder.h"
#include "freshet/command/run/parameters.h"

namespace freshet::command {

void addLogLevels(std::string_view name, bson::Builder* out);

/// All is checked before anything is set; parts that are not named stay as they are. The level of
/// the whole goes into `values`, too; what was goes into `reply`, which may be null. kInvalid
/// (kBadValue, kTypeMismatch) with MongoDB's text.
Status setLogLevels(const bson::Element& levels, ParameterValues* values, bson::Builder* reply);

}  // namespace freshet::command
