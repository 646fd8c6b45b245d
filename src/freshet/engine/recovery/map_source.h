// SPDX-License-Identifier: Apache-2.0
/// The pages of the newest checkpoint, for loading and for checking. One thread.
#pragma once

#include "freshet/block/block_file.h"
#include "freshet/engine/recovery/tree_loader.h"
#include "freshet/engine/store.h"

#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

namespace freshet::engine {

class MapSource final : public PageSource {
public:
    /// `losses`: damage is written down there and gone on without; null: it ends the loading.
    MapSource(const block::BlockFile& file, std::vector<std::string>* losses)
        : file_(file), losses_(losses) {}

    Status readMap();
    /// Trees that have a root, ascending.
    std::vector<TreeId> trees() const;
    PageId highestPage() const;
    /// What loading has found no use for.
    std::vector<PageId> unusedPages() const;
    /// Pages of trees, without those of large values.
    const std::vector<std::pair<TreeId, PageId>>& treePages() const { return treePages_; }
    /// Those of large values.
    const std::vector<std::pair<TreeId, PageId>>& valuePages() const { return valuePages_; }

    /// Asked for each leaf whether it stays in memory; without, all do.
    void setKeepsLeaves(std::function<bool()> keeps) { keeps_ = std::move(keeps); }

    Status readPage(PageId page, std::string* image) override;
    block::PagePlace placeOf(PageId page) const override;
    bool keepsLeaves() const override { return !keeps_ || keeps_(); }
    void noteUsed(TreeId tree, PageId page, bool isValue) override;
    bool canLose() const override { return losses_ != nullptr; }
    void lose(const std::string& what) override { losses_->push_back(what); }
    const std::vector<Survivor>& survivors(TreeId tree) override;

private:
    struct Place {
        block::PagePlace place;
        bool used = false;
    };
    const block::BlockFile& file_;
    std::vector<std::string>* const losses_;
    std::function<bool()> keeps_;
    std::unordered_map<PageId, Place> map_;
    std::vector<std::pair<TreeId, PageId>> treePages_;
    std::vector<std::pair<TreeId, PageId>> valuePages_;
    bool lookedForSurvivors_ = false;
    std::unordered_map<TreeId, std::vector<Survivor>> survivors_;
};

}  // namespace freshet::engine
