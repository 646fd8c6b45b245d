// SPDX-License-Identifier: Apache-2.0
/// Stretches of time that may overlap, in nanoseconds of the monotonic clock. One thread at a time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace freshet::bench {

class Spans {
public:
    /// They come in the order of their ends, but for some milliseconds.
    void add(uint64_t begin, uint64_t end) { spans_.push_back({begin, end}); }
    void add(const Spans& others) {
        spans_.insert(spans_.end(), others.spans_.begin(), others.spans_.end());
    }
    bool isEmpty() const { return spans_.empty(); }
    /// What of them lies between the two.
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
    /// How much time they cover, where they overlap once.
    uint64_t nanos() const {
        std::vector<Span> spans = spans_;
        std::sort(spans.begin(), spans.end(), [](const Span& a, const Span& b) {
            return a.begin < b.begin;
        });
        uint64_t nanos = 0;
        uint64_t upTo = 0;  // nothing before it counts any more
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
