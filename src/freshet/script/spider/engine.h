// SPDX-License-Identifier: Apache-2.0
/// SpiderMonkey's headers, which come by way of this one first.
#pragma once

// Rooted values link themselves into a list of the context while they live; g++ takes that for a
// pointer that outlives them.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wdangling-pointer"
#endif

#include <jsapi.h>
