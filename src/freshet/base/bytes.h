// SPDX-License-Identifier: Apache-2.0
/// Byte views and little/big endian loads and stores. A ByteView is a std::string_view: comparing
/// two of them compares bytes as unsigned values (memcmp), which is the order of keys everywhere.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>

namespace freshet {

using ByteView = std::string_view;

static_assert(std::endian::native == std::endian::little, "big-endian hosts are not supported");

/// Reads a T stored little endian at p, which needs no alignment. REQUIRES: sizeof(T) bytes.
template <typename T>
T loadLe(const char* p) {
    static_assert(std::is_trivially_copyable_v<T>);
    T value;
    std::memcpy(&value, p, sizeof(T));
    return value;
}

template <typename T>
void storeLe(char* p, T value) {
    static_assert(std::is_trivially_copyable_v<T>);
    std::memcpy(p, &value, sizeof(T));
}

template <typename T>
void appendLe(std::string& out, T value) {
    static_assert(std::is_trivially_copyable_v<T>);
    out.append(reinterpret_cast<const char*>(&value), sizeof(T));
}

inline uint64_t loadBe64(const char* p) {
    return __builtin_bswap64(loadLe<uint64_t>(p));
}
inline void storeBe64(char* p, uint64_t value) {
    storeLe(p, __builtin_bswap64(value));
}
inline uint32_t loadBe32(const char* p) {
    return __builtin_bswap32(loadLe<uint32_t>(p));
}
inline void storeBe32(char* p, uint32_t value) {
    storeLe(p, __builtin_bswap32(value));
}
/// Two lower-case digits for each byte.
inline std::string toHex(ByteView bytes) {
    constexpr char kDigits[] = "0123456789abcdef";
    std::string hex;
    hex.reserve(2 * bytes.size());
    for (const char c : bytes) {
        hex += kDigits[static_cast<uint8_t>(c) >> 4];
        hex += kDigits[static_cast<uint8_t>(c) & 15];
    }
    return hex;
}
inline void appendBe64(std::string& out, uint64_t value) {
    appendLe(out, __builtin_bswap64(value));
}
inline void appendBe32(std::string& out, uint32_t value) {
    appendLe(out, __builtin_bswap32(value));
}

}  // namespace freshet
