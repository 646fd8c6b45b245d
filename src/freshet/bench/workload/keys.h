// SPDX-License-Identifier: Apache-2.0
/// Keys, values and choices of the measured loops. Each thread has its own.
#pragma once

#include "freshet/base/bytes.h"

#include <cstdint>
#include <string>

namespace freshet::bench {

/// A bijection of the 64-bit numbers that hides their order (the finalizer of splitmix64).
inline uint64_t mixed(uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

class Random {
public:
    explicit Random(uint64_t seed) : state_(mixed(seed + 1)) {}
    uint64_t next() { return mixed(state_ += 0x9e3779b97f4a7c15u); }
    /// A number below `limit`, which must be far below 2^64.
    uint64_t below(uint64_t limit) {
        return static_cast<uint64_t>((static_cast<unsigned __int128>(next()) * limit) >> 64);
    }

private:
    uint64_t state_;
};

/// Keys `first` to `end` - 1.
struct KeyRange {
    uint64_t first;
    uint64_t end;
};

/// The i-th key: eight bytes, different for each i, that either look random or are in order.
class KeyMaker {
public:
    explicit KeyMaker(bool ascending) : ascending_(ascending) {}
    ByteView key(uint64_t i) {
        if (ascending_) {
            storeBe64(bytes_, i);
        } else {
            storeLe(bytes_, mixed(i + 1));
        }
        return {bytes_, sizeof(bytes_)};
    }

private:
    const bool ascending_;
    char bytes_[8];
};

/// Values of random letters; the next value costs nothing.
class ValueMaker {
public:
    ValueMaker(size_t bytes, uint64_t seed) : bytes_(bytes), letters_(bytes + kShifts, ' ') {
        Random random(seed);
        for (char& letter : letters_) {
            letter = static_cast<char>('a' + random.below(26));
        }
    }
    ByteView next() { return ByteView(letters_).substr(++at_ % kShifts, bytes_); }

private:
    static constexpr size_t kShifts = 4'096;
    const size_t bytes_;
    std::string letters_;
    uint64_t at_ = 0;
};

}  // namespace freshet::bench
