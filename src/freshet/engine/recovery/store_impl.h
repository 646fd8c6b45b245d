// SPDX-License-Identifier: Apache-2.0
/// The inside of a Store: its directory of trees, and what open() has to keep.
#pragma once

#include "freshet/engine/store.h"
#include "freshet/engine/txn/store_core.h"
#include "freshet/sync/mutex.h"

#include <map>
#include <memory>
#include <mutex>

namespace freshet::engine {

struct Store::Impl {
    TreeRef tree(TreeId id);
    /// A whole record of the journal, in LSN order, before anybody else uses the store.
    Status replay(const journal::RecordView& record);

    std::unique_ptr<platform::FileLock> lock;
    std::shared_ptr<StoreCore> core = std::make_shared<StoreCore>();
    uint64_t recordsReplayed = 0;
    bool closed = false;

    sync::Mutex mutex;  // never held while a page is touched
    std::map<TreeId, TreeRef> trees;
    TreeId nextId = kCatalogTree + 1;
};

}  // namespace freshet::engine
