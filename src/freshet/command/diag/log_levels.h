// SPDX-License-Identifier: Apache-2.0
/// The parameter logComponentVerbosity: how much the parts of the server log, as a tree
/// {verbosity: n, storage: {verbosity: n, journal: {verbosity: n}}, ...}.
#pragma once

#include "freshet/bson/builder.h"
#include "freshet/command/run/parameters.h"

namespace freshet::command {

void addLogLevels(std::string_view name, bson::Builder* out);

/// Everything is checked before anything is set; components that are not named stay as they are.
/// The top level also goes into `values`; the previous levels go into `reply`, which may be null.
/// kInvalid (kBadValue, kTypeMismatch) with MongoDB's text.
Status setLogLevels(const bson::Element& levels, ParameterValues* values, bson::Builder* reply);

}  // namespace freshet::command
