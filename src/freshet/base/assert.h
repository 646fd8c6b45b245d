// SPDX-License-Identifier: Apache-2.0
/// Assertions, graded by what they end. They are for our own mistakes: input from outside never
/// trips one.
#pragma once

namespace freshet {

/// Prints condition and place to stderr and aborts. Never returns.
[[noreturn]] void assertionFailed(const char* condition, const char* file, int line);

}  // namespace freshet

/// Always on. The process dies, because going on would lose or damage data.
#define invariant(cond)                           \
    (__builtin_expect(static_cast<bool>(cond), 1) \
         ? static_cast<void>(0)                   \
         : ::freshet::assertionFailed(#cond, __FILE__, __LINE__))

/// On in debug and sanitizer builds (FRESHET_DEBUG), else compiled but not evaluated.
#ifdef FRESHET_DEBUG
#define dcheck(cond) invariant(cond)
#else
#define dcheck(cond) static_cast<void>(sizeof(static_cast<bool>(cond)))
#endif
