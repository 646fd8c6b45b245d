// SPDX-License-Identifier: Apache-2.0
/// What scripts of operations find beside the BSON types: the files of this closet.
#pragma once

#include "freshet/script/source.h"

namespace freshet::query {

std::span<const script::Source> librarySources();

}  // namespace freshet::query
