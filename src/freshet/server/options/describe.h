// SPDX-License-Identifier: Apache-2.0
/// Options as given, for people and for getCmdLineOpts.
#pragma once

#include "freshet/bson/builder.h"
#include "freshet/server/options/option_table.h"

#include <vector>

namespace freshet::server {

/// In the shape of a configuration file, sorted by name; of two that say the same the later counts.
/// Passwords are not shown.
bson::OwnedDocument describe(const std::vector<Given>& given);

}  // namespace freshet::server
