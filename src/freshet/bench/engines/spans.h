// SPDX-License-Identifier: Apache-2.0
/// Time intervals that may overlap, in ns of the monotonic clock. Not thread-safe.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace freshet::bench {

class Spans {
public:
    /// Intervals must be added in the order of their ends, give or take some milliseconds.
    void add(uint64_t begin, uint64_t end) { spans_.push_back({begin, end}); }
    void add(const Spans& others) {
        spans_.insert(spans_.end(), others.spans_.begin(), others.spans_.end());
    }
    bool isEmpty() const { return spans_.empty(); }
    /// The parts of the intervals inside [begin, end].
    Spans within(uint64_t begin, uint64_t end) const {
        constexpr uint64_t kDisorderNanos = 50'000'000;
        Spans found;
        for (auto span = spans_.rbegin();
             span != spans_.rend() && span->end + kDisorderNanos > begin;
             ++span) {
            if (span->begin < end && span->end > begin) {
                found.add(std::max(span->begin, begin), std::min(span->end, end));
            }
        }
        return found;
    }
    /// The time that the intervals cover; overlapping parts count once.
    uint64_t nanos() const {
        std::vector<Span> spans = spans_;
        std::sort(spans.begin(), spans.end(), [](const Span& a, const Span& b) {
            return a.begin < b.begin;
        });
        uint64_t nanos = 0;
        uint64_t upTo = 0;  // time before it has been counted
        for (const Span& span : spans) {
            nanos += std::max(span.end, upTo) - std::max(span.begin, upTo);
            upTo = std::max(upTo, span.end);
        }
        return nanos;
    }

private:
    struct Span {
        uint64_t begin;
        uint64_t end;
    };
    std::vector<Span> spans_;
};

}  // namespace freshet::bench
