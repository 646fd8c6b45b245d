// SPDX-License-Identifier: Apache-2.0
/// SpiderMonkey's headers. Always include this header, and include it first.
#pragma once

// A rooted value links itself into a list of the context for its lifetime; g++ takes that for a
// dangling pointer.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wdangling-pointer"
#endif

#include <jsapi.h>
