// SPDX-License-Identifier: Apache-2.0
/// The pages of the newest checkpoint, as the source for loading and for checking. One thread.
#pragma once

#include "freshet/block/block_file.h"
#include "freshet/engine/recovery/tree_loader.h"
#include "freshet/engine/store.h"

#include <string>
#include <unordered_map>
#include <vector>

namespace freshet::engine {

class MapSource final : public PageSource {
public:
    /// `losses`: damage is reported there, and loading goes on without the damaged pieces; null:
    /// damage ends the loading.
    MapSource(const block::BlockFile& file, Leaves leaves, std::vector<std::string>* losses)
        : file_(file), leaves_(leaves), losses_(losses) {}

    Status readMap();
    /// Trees that have a root, in ascending order.
    std::vector<TreeId> trees() const;
    PageId highestPage() const;
    /// Pages that loading has not used.
    std::vector<PageId> unusedPages() const;
    /// Pages of trees, without those of large values.
    const std::vector<std::pair<TreeId, PageId>>& treePages() const { return treePages_; }
    /// Pages of large values.
    const std::vector<std::pair<TreeId, PageId>>& valuePages() const { return valuePages_; }

    /// Pages whose note must be written; placeOf() has the note.
    const std::vector<PageId>& learned() const { return learned_; }

    Status readPage(PageId page, std::string* image) override;
    block::PagePlace placeOf(PageId page) const override;
    Leaves leaves() const override { return leaves_; }
    void learnNote(PageId page, uint64_t note) override;
    void noteUsed(TreeId tree, PageId page, bool isValue) override;
    bool canLose() const override { return losses_ != nullptr; }
    void lose(const std::string& what) override { losses_->push_back(what); }
    const std::vector<Survivor>& survivors(TreeId tree) override;

private:
    static constexpr size_t kNowhere = SIZE_MAX;
    /// The page's index in the lists below.
    size_t indexOf(PageId page) const;

    const block::BlockFile& file_;
    const Leaves leaves_;
    std::vector<std::string>* const losses_;
    // All pages in the order of their ids, each in all three lists: at the time of the highest
    // memory use they take about half of what a hash table would.
    std::vector<PageId> pages_;
    std::vector<block::PagePlace> places_;
    std::vector<bool> used_;
    std::vector<std::pair<TreeId, PageId>> treePages_;
    std::vector<std::pair<TreeId, PageId>> valuePages_;
    std::vector<PageId> learned_;
    bool lookedForSurvivors_ = false;
    std::unordered_map<TreeId, std::vector<Survivor>> survivors_;
};

}  // namespace freshet::engine
