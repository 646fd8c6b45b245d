// SPDX-License-Identifier: Apache-2.0
/// ProcessMemory: how much memory the process uses besides the counted pages, and when memory that
/// it has freed is returned to the system. The ceiling applies to the process, since the system
/// kills processes. Returning memory breaks up huge pages (decision 0012), so it is kept while it
/// is little or will soon be reused, and the ceiling is far. A process gets huge pages when it does
/// not grow, or when it grows fast and they are cheap (decisions 0032, 0044). One thread.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

namespace freshet::engine {

class ProcessMemory {
public:
    /// How often the three functions below are called, one after the other.
    static constexpr uint64_t kLookEveryMs = 250;
    /// How often hasOutgrown() is called in between.
    static constexpr uint64_t kGlanceEveryMs = 10;

    /// Whether the next look cannot wait: the process uses more than the ceiling, and clearly more
    /// than after the last look.
    bool hasOutgrown(uint64_t resident, uint64_t limit) const {
        return limit != 0 && resident > limit && resident > residentAfter_ + limit / kOutgrownPart;
    }

    /// Whether freed memory should be returned now. The process has `resident` bytes in memory, of
    /// at most `limit` (0: no ceiling), `used` of them for pages, and `freed` that it could reuse.
    bool givesBack(uint64_t resident, uint64_t limit, uint64_t used, uint64_t freed) {
        lately_[next_++ % lately_.size()] = freed;
        const uint64_t unneeded = *std::min_element(lately_.begin(), lately_.end());
        const bool isNear = limit != 0 && resident > limit;
        return isNear || unneeded > kLittleBytes + used / kLittlePart;
    }
    /// Whether the process should have huge pages: not once it has exceeded `limit`, until it uses
    /// clearly less again; nor while it grows, unless it grows fast and cost(), the present time
    /// for one (platform::hugePageNanos), is no more than that of small pages. An expensive answer
    /// is not asked for again at once.
    template <typename Cost>
    bool wantsHugePages(uint64_t resident, uint64_t limit, Cost cost) {
        const uint64_t growth = resident - std::min(resident, residentBefore_);
        looksAtRest_ = growth > kGrowthBytes ? 0 : looksAtRest_ + 1;
        residentBefore_ = resident;
        if (limit == 0 || resident > limit || resident < limit - limit / kClearPart) {
            affordsHuge_ = limit == 0 || resident <= limit;
        }
        looksUntilCost_ -= looksUntilCost_ == 0 ? 0 : 1;
        if (!affordsHuge_ || looksAtRest_ >= kRestLooks) {
            return affordsHuge_;
        }
        const bool hasRoom = limit == 0 || resident < limit / 2;
        return growth >= kFastGrowthBytes && hasRoom && looksUntilCost_ == 0 && isCheap(cost());
    }
    /// How much of the ceiling pages must leave to the rest of the process: rises at once with its
    /// use and falls slowly.
    uint64_t besidePages(uint64_t resident, uint64_t used, uint64_t freed) {
        residentAfter_ = resident;
        const uint64_t beside = resident - std::min(resident, used + freed);
        beside_ = std::max(beside, beside_ - beside_ / kSlowness);
        return beside_;
    }

private:
    /// `nanos`: the time that a huge page took; unset: none was available. If they are expensive,
    /// none is tried for a while.
    bool isCheap(std::optional<uint64_t> nanos) {
        const bool cheap = nanos.has_value() && *nanos <= kHugePageNanosMax;
        looksUntilCost_ = cheap ? 0 : kDearLooks;
        return cheap;
    }

    static constexpr uint64_t kLittleBytes = 16u << 20;
    static constexpr uint64_t kLittlePart = 8;
    static constexpr uint64_t kSlowness = 32;
    static constexpr uint64_t kClearPart = 4;
    static constexpr uint64_t kOutgrownPart = 32;
    static constexpr uint64_t kGrowthBytes = 2u << 20;
    static constexpr uint64_t kFastGrowthBytes = 16u << 20;
    static constexpr uint64_t kHugePageNanosMax = 1'000'000;  // the time for 512 small pages
    static constexpr uint64_t kRestLooks = 2'000 / kLookEveryMs;
    static constexpr uint64_t kDearLooks = 2'000 / kLookEveryMs;

    std::array<uint64_t, 10'000 / kLookEveryMs> lately_{};
    uint32_t next_ = 0;
    uint64_t beside_ = 0;
    uint64_t residentBefore_ = 0;
    uint64_t residentAfter_ = 0;
    uint64_t looksAtRest_ = 0;
    uint64_t looksUntilCost_ = 0;
    bool affordsHuge_ = true;
};

}  // namespace freshet::engine
