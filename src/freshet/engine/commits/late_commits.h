// SPDX-License-Identifier: Apache-2.0
/// The commits of a snapshot of the log (snapshot.h) whose timestamps are above the snapshot's.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace freshet::engine {

/// Few: each was under way at the time of the snapshot. Immutable.
class LateCommits {
public:
    /// `timestamps`: ascending.
    explicit LateCommits(std::vector<uint64_t> timestamps) : timestamps_(std::move(timestamps)) {}
    bool has(uint64_t ts) const {
        return std::binary_search(timestamps_.begin(), timestamps_.end(), ts);
    }
    size_t size() const { return timestamps_.size(); }

private:
    const std::vector<uint64_t> timestamps_;
};

}  // namespace freshet::engine
