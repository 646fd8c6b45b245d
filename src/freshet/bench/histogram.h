// SPDX-License-Identifier: Apache-2.0
/// Latencies in buckets, each at most 1/32 of its value wide. Each thread has its own; they are
/// merged at the end.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace freshet::bench {

class Histogram {
public:
    void add(uint64_t nanos) {
        ++counts_[indexOf(nanos)];
        ++total_;
        sum_ += nanos;
    }
    void merge(const Histogram& other) {
        for (size_t i = 0; i < kBuckets; ++i) {
            counts_[i] += other.counts_[i];
        }
        total_ += other.total_;
        sum_ += other.sum_;
    }
    uint64_t total() const { return total_; }
    /// 0 when empty.
    double meanNanos() const {
        return total_ == 0 ? 0 : static_cast<double>(sum_) / static_cast<double>(total_);
    }
    /// The upper edge of the bucket below which the share `quantile` of the values falls; 0 when
    /// empty.
    uint64_t quantileNanos(double quantile) const {
        const auto wanted = static_cast<uint64_t>(quantile * static_cast<double>(total_));
        uint64_t seen = 0;
        for (size_t i = 0; i < kBuckets; ++i) {
            seen += counts_[i];
            if (counts_[i] > 0 && seen >= wanted) {
                return upperEdge(i);
            }
        }
        return 0;
    }

private:
    static constexpr size_t kSubBits = 5;
    static constexpr size_t kSub = size_t{1} << kSubBits;
    static constexpr size_t kBuckets = (64 - kSubBits + 1) * kSub;

    /// Each value below kSub has a bucket of its own; above that, each power of two has kSub
    /// buckets.
    static size_t indexOf(uint64_t value) {
        if (value < kSub) {
            return value;
        }
        const auto shift = static_cast<size_t>(std::bit_width(value)) - 1 - kSubBits;
        return (shift + 1) * kSub + ((value >> shift) - kSub);
    }
    static uint64_t upperEdge(size_t index) {
        if (index < kSub) {
            return index;
        }
        const size_t shift = index / kSub - 1;
        return ((index % kSub + kSub + 1) << shift) - 1;
    }

    std::array<uint64_t, kBuckets> counts_{};
    uint64_t total_ = 0;
    uint64_t sum_ = 0;
};

}  // namespace freshet::bench
