// SPDX-License-Identifier: Apache-2.0
/// The file `freshet.id` in a data directory: marks it as a data directory, with its format version
/// and its identity. Written once, when the directory is first opened. Little endian.
///
///   magic 8 bytes "FRESHETD" | version u32 = 1 | flags u32 = 0 | uuid 16 | reserved 28
///   | crc32c u32 of all before
#pragma once

#include <cstddef>
#include <cstdint>

namespace freshet::engine {

inline constexpr char kIdentityFile[] = "freshet.id";
inline constexpr char kIdentityMagic[] = "FRESHETD";
inline constexpr uint32_t kIdentityVersion = 1;
inline constexpr size_t kIdentityMagicBytes = 8;
inline constexpr size_t kIdentityVersionOffset = 8;
inline constexpr size_t kIdentityUuidOffset = 16;
inline constexpr size_t kIdentityUuidBytes = 16;
inline constexpr size_t kIdentityCrcOffset = 60;
inline constexpr size_t kIdentityBytes = 64;

}  // namespace freshet::engine
