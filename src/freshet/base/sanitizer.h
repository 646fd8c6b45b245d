// SPDX-License-Identifier: Apache-2.0
/// What the build is checked with: memory that is kept for later use hides who uses it too late.
#pragma once

namespace freshet {

#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool kIsAddressSanitized = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
inline constexpr bool kIsAddressSanitized = true;
#else
inline constexpr bool kIsAddressSanitized = false;
#endif
#else
inline constexpr bool kIsAddressSanitized = false;
#endif

}  // namespace freshet
