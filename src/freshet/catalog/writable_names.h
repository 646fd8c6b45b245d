// SPDX-License-Identifier: Apache-2.0
/// Which collections clients may make and write, among those whose names are legal. Pure; any
/// thread.
#pragma once

#include "freshet/base/status.h"

#include <string_view>

namespace freshet::catalog {

/// As checkNames(); and of the collections whose names begin with "system." it is one of the few
/// that clients may write (kInvalidNamespace otherwise). kBadValue for "x.system.y", as MongoDB.
Status checkWritable(std::string_view db, std::string_view collection);

}  // namespace freshet::catalog
