// SPDX-License-Identifier: Apache-2.0
#include "freshet/engine/recovery/map_source.h"

#include <algorithm>
#include <tuple>

namespace freshet::engine {

Status MapSource::readMap() {
    return file_.forEachPage([&](PageId page, const block::PagePlace& place) {
        map_[page].place = place;
        return Status::ok();
    });
}

std::vector<TreeId> MapSource::trees() const {
    std::vector<TreeId> ids;
    for (const auto& [page, place] : map_) {
        if (page < kFirstPageId) {
            ids.push_back(static_cast<TreeId>(page));
        }
    }
    std::sort(ids.begin(), ids.end());
    return ids;
}

PageId MapSource::highestPage() const {
    PageId highest = 0;
    for (const auto& [page, place] : map_) {
        highest = std::max(highest, page);
    }
    return highest;
}

std::vector<PageId> MapSource::unusedPages() const {
    std::vector<PageId> pages;
    for (const auto& [page, place] : map_) {
        if (!place.used) {
            pages.push_back(page);
        }
    }
    return pages;
}

Status MapSource::readPage(PageId page, std::string* image) {
    const auto found = map_.find(page);
    if (found == map_.end()) {
        return Status(Code::kNotFound, "no such page");
    }
    return file_.readPage(page, found->second.place, image);
}

block::PagePlace MapSource::placeOf(PageId page) const {
    const auto found = map_.find(page);
    return found != map_.end() ? found->second.place : block::PagePlace{};
}

void MapSource::learnNote(PageId page, uint64_t note) {
    map_.at(page).place.note = note;
    learned_.push_back(page);
}

void MapSource::noteUsed(TreeId tree, PageId page, bool isValue) {
    if (auto found = map_.find(page); found != map_.end()) {
        found->second.used = true;
    }
    (isValue ? valuePages_ : treePages_).emplace_back(tree, page);
}

const std::vector<Survivor>& MapSource::survivors(TreeId tree) {
    if (!lookedForSurvivors_) {
        lookedForSurvivors_ = true;
        std::string bytes;
        for (const auto& [page, place] : map_) {
            if (!readPage(page, &bytes).isOk()) {
                continue;
            }
            if (auto image = readPageImage(bytes); image.isOk()) {
                const PageHead& head = image->head;
                survivors_[head.tree].push_back({page, head.level, std::string(head.low)});
            }
        }
        for (auto& [id, pages] : survivors_) {
            std::sort(pages.begin(), pages.end(), [](const Survivor& a, const Survivor& b) {
                return std::tie(a.low, b.page) < std::tie(b.low, a.page);  // of equals the newest
            });
        }
    }
    return survivors_[tree];
}

}  // namespace freshet::engine
