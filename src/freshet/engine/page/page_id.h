// SPDX-License-Identifier: Apache-2.0
/// The numbers of pages.
#pragma once

#include <cstdint>

namespace freshet::engine {

/// As block::PageId. The root of tree T is page T; all other pages have ids from kFirstPageId on.
using PageId = uint64_t;
inline constexpr PageId kFirstPageId = uint64_t{1} << 32;

}  // namespace freshet::engine
