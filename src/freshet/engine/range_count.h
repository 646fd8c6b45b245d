// SPDX-License-Identifier: Apache-2.0
/// RangeCount: the exact number of entries that a transaction sees in a range of keys. A leaf
/// without changes contributes its number of keys without a look at them, and a leaf on disk need
/// not be read; each change is judged by itself. So a count takes one step per page, not per entry.
#pragma once

#include "freshet/engine/store.h"

#include <memory>
#include <string>

namespace freshet::engine {

class RangeCount {
public:
    /// Counts the keys >= `low` and < `end`; an empty `end` means the end of the tree. Txn and tree
    /// outlive the object. REQUIRES: nothing is written through `txn` until the count is done.
    RangeCount(Txn& txn, TreeRef tree, std::string low, std::string end);
    ~RangeCount();
    RangeCount(const RangeCount&) = delete;
    RangeCount& operator=(const RangeCount&) = delete;

    /// Continues over whole pages while the total is at most `most`. ok: stopped there, or done.
    /// WouldBlock: wait for the transaction's token() and call again; other errors as of
    /// Txn::get().
    Status run(uint64_t most = UINT64_MAX);
    uint64_t count() const;
    /// The whole range has been counted.
    bool isDone() const;
    /// REQUIRES: !isDone(). Where the uncounted part begins.
    const std::string& rest() const;

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace freshet::engine
