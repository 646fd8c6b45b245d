// SPDX-License-Identifier: Apache-2.0
/// The library for scripts of operations, in addition to the BSON types: the files in this folder.
#pragma once

#include "freshet/script/source.h"

namespace freshet::query {

std::span<const script::Source> librarySources();

}  // namespace freshet::query
