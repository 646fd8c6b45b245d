// SPDX-License-Identifier: Apache-2.0
/// Which of the collections with legal names clients may make and write. Pure; any thread.
#pragma once

#include "freshet/base/status.h"

#include <string_view>

namespace freshet::catalog {

/// As checkNames(), and a collection whose name starts with "system." must be one of the few that
/// clients may write (kInvalidNamespace otherwise). kBadValue for "x.system.y", as in MongoDB.
Status checkWritable(std::string_view db, std::string_view collection);

}  // namespace freshet::catalog
