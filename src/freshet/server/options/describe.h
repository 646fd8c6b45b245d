// SPDX-License-Identifier: Apache-2.0
/// The given options, for people and for getCmdLineOpts.
#pragma once

#include "freshet/bson/builder.h"
#include "freshet/server/options/option_table.h"

#include <vector>

namespace freshet::server {

/// In the form of a configuration file, sorted by name; if an option is given twice the later one
/// counts. Passwords are not shown.
bson::OwnedDocument describe(const std::vector<Given>& given);

}  // namespace freshet::server
