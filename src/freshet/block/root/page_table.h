// SPDX-License-Identifier: Apache-2.0
/// The page map of the newest checkpoint, in memory, in page id order. Threads: one writes, or any
/// read.
#pragma once

#include "freshet/block/block_file.h"

#include <functional>
#include <memory>

namespace freshet::block {

class PageTable {
public:
    PageTable();
    ~PageTable();
    PageTable(PageTable&&) noexcept;
    PageTable& operator=(PageTable&&) noexcept;

    /// The place that was there before; blocks == 0 when there was none.
    PagePlace put(PageId page, const PagePlace& place);
    /// Likewise; the page is not in the table afterwards.
    PagePlace remove(PageId page);
    /// Null when the page is not there. Until the next change.
    const PagePlace* find(PageId page) const;
    size_t size() const;
    /// What it takes in memory.
    uint64_t bytes() const;
    Status forEach(const std::function<Status(PageId, const PagePlace&)>& sink) const;

private:
    struct Tree;
    std::unique_ptr<Tree> tree_;
};

}  // namespace freshet::block
