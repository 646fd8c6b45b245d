// SPDX-License-Identifier: Apache-2.0
/// RangeCount: how many entries a range of keys has in a transaction's eyes, exactly. A leaf
/// without changes gives its number of keys, whatever they are, and one on disk need not be read; a
/// change is judged by itself. So a count takes a step for each page, not for each entry.
#pragma once

#include "freshet/engine/store.h"

#include <memory>
#include <string>

namespace freshet::engine {

class RangeCount {
public:
    /// Of the keys >= `low` and < `end`; an empty `end` is the end of the tree. Txn and tree
    /// outlive it. REQUIRES: nothing is written through `txn` until it is done.
    RangeCount(Txn& txn, TreeRef tree, std::string low, std::string end);
    ~RangeCount();
    RangeCount(const RangeCount&) = delete;
    RangeCount& operator=(const RangeCount&) = delete;

    /// Goes on over whole pages as long as there are at most `most` entries in all. ok: count() is
    /// final. WouldBlock: wait for the transaction's token() and call again; other errors as of
    /// Txn::get().
    Status run(uint64_t most = UINT64_MAX);
    uint64_t count() const;
    /// All of the range has been counted.
    bool isDone() const;
    /// REQUIRES: !isDone(). What has not been counted begins here.
    const std::string& rest() const;

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace freshet::engine
