// SPDX-License-Identifier: Apache-2.0
/// FreedMemory: when memory that the process has freed goes back to the system. Giving it back
/// breaks up huge pages (decision 0012), so it stays as long as it is little, or is needed again
/// soon, and the ceiling is far. One thread.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

namespace freshet::engine {

class FreedMemory {
public:
    /// How often look() is to be called.
    static constexpr uint64_t kLookEveryMs = 1'000;

    /// `used` of at most `limit` bytes (0: no ceiling), and `freed` that are still the process's.
    /// Returns whether they are to stay.
    bool look(uint64_t used, uint64_t limit, uint64_t freed) {
        lately_[next_++ % lately_.size()] = freed;
        const uint64_t unneeded = *std::min_element(lately_.begin(), lately_.end());
        const bool isFar = limit == 0 || used < limit / 100 * kFarPercent;
        return isFar && unneeded <= kLittleBytes + used / kLittlePart;
    }

private:
    static constexpr uint64_t kFarPercent = 60;  // of the ceiling
    static constexpr uint64_t kLittleBytes = 16u << 20;
    static constexpr uint64_t kLittlePart = 8;

    std::array<uint64_t, 10> lately_{};
    uint32_t next_ = 0;
};

}  // namespace freshet::engine
