// SPDX-License-Identifier: Apache-2.0
/// The directory of existing trees. Any thread. The mutex is a leaf and never held while a page is
/// touched.
#pragma once

#include "freshet/engine/txn/store_core.h"
#include "freshet/sync/mutex.h"

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace freshet::engine {

class TreeDirectory {
public:
    /// A dropped tree may still be read.
    using Dropped = std::pair<TreeId, std::weak_ptr<Tree>>;

    explicit TreeDirectory(std::shared_ptr<StoreCore> core) : core_(std::move(core)) {}

    TreeRef tree(TreeId id) {
        std::lock_guard<sync::Mutex> guard(mutex_);
        TreeRef& ref = trees_[id];
        if (!ref) {
            ref = std::make_shared<Tree>(id, core_, core_->epochs, core_->codec);
            nextId_ = std::max(nextId_, id + 1);
        }
        return ref;
    }
    void drop(TreeId id) {
        TreeRef dropped;  // destroyed after the mutex is released
        std::lock_guard<sync::Mutex> guard(mutex_);
        if (auto it = trees_.find(id); it != trees_.end()) {
            dropped = std::move(it->second);
            trees_.erase(it);
            dropped_.emplace_back(id, dropped);
        }
    }
    std::vector<TreeRef> all() {
        std::lock_guard<sync::Mutex> guard(mutex_);
        return allLocked();
    }
    /// All trees, and those dropped since the last call, as of one moment: if a dropped id is in
    /// use again, the new tree was in no earlier answer.
    std::pair<std::vector<TreeRef>, std::vector<Dropped>> allAndDropped() {
        std::lock_guard<sync::Mutex> guard(mutex_);
        return {allLocked(), std::exchange(dropped_, {})};
    }
    size_t size() {
        std::lock_guard<sync::Mutex> guard(mutex_);
        return trees_.size();
    }

    TreeId newId() {
        std::lock_guard<sync::Mutex> guard(mutex_);
        return nextId_++;
    }
    void reserveIds(TreeId upTo) {
        std::lock_guard<sync::Mutex> guard(mutex_);
        nextId_ = std::max(nextId_, upTo + 1);
    }
    TreeId nextId() {
        std::lock_guard<sync::Mutex> guard(mutex_);
        return nextId_;
    }

private:
    std::vector<TreeRef> allLocked() {
        std::vector<TreeRef> all;
        all.reserve(trees_.size());
        for (const auto& [id, tree] : trees_) {
            all.push_back(tree);
        }
        return all;
    }

    const std::shared_ptr<StoreCore> core_;
    sync::Mutex mutex_;
    std::map<TreeId, TreeRef> trees_;   // guarded by mutex_
    std::vector<Dropped> dropped_;      // guarded by mutex_
    TreeId nextId_ = kCatalogTree + 1;  // guarded by mutex_
};

}  // namespace freshet::engine
