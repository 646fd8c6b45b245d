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

    /// ok: count() is final. WouldBlock: wait for the transaction's token() and call again; other
    /// errors as of Txn::get().
    Status run();
    uint64_t count() const;

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace freshet::engine
