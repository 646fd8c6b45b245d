// SPDX-License-Identifier: Apache-2.0
#include "freshet/engine/recovery/map_source.h"

#include <algorithm>
#include <tuple>

namespace freshet::engine {

Status MapSource::readMap() {
    const uint64_t count = file_.stats().mappedPages;
    pages_.reserve(count);
    places_.reserve(count);
    FRESHET_RETURN_IF_ERROR(file_.forEachPage([&](PageId page, const block::PagePlace& place) {
        pages_.push_back(page);
        places_.push_back(place);
        return Status::ok();
    }));
    used_.resize(pages_.size());
    return Status::ok();
}

size_t MapSource::indexOf(PageId page) const {
    const auto found = std::lower_bound(pages_.begin(), pages_.end(), page);
    return found != pages_.end() && *found == page ? found - pages_.begin() : kNowhere;
}

std::vector<TreeId> MapSource::trees() const {
    const auto end = std::lower_bound(pages_.begin(), pages_.end(), kFirstPageId);
    return {pages_.begin(), end};
}

PageId MapSource::highestPage() const {
    return pages_.empty() ? 0 : pages_.back();
}

std::vector<PageId> MapSource::unusedPages() const {
    std::vector<PageId> unused;
    for (size_t i = 0; i < pages_.size(); ++i) {
        if (!used_[i]) {
            unused.push_back(pages_[i]);
        }
    }
    return unused;
}

Status MapSource::readPage(PageId page, std::string* image) {
    const size_t i = indexOf(page);
    return i == kNowhere ? Status(Code::kNotFound, "no such page")
                         : file_.readPage(page, places_[i], image);
}

block::PagePlace MapSource::placeOf(PageId page) const {
    const size_t i = indexOf(page);
    return i == kNowhere ? block::PagePlace{} : places_[i];
}

void MapSource::learnNote(PageId page, uint64_t note) {
    const size_t i = indexOf(page);
    invariant(i != kNowhere);
    places_[i].note = note;
    learned_.push_back(page);
}

void MapSource::noteUsed(TreeId tree, PageId page, bool isValue) {
    if (const size_t i = indexOf(page); i != kNowhere) {
        used_[i] = true;
    }
    (isValue ? valuePages_ : treePages_).emplace_back(tree, page);
}

const std::vector<Survivor>& MapSource::survivors(TreeId tree) {
    if (!lookedForSurvivors_) {
        lookedForSurvivors_ = true;
        std::string bytes;
        for (const PageId page : pages_) {
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
                return std::tie(a.low, b.page) <
                       std::tie(b.low, a.page);  // of equal ones the newest first
            });
        }
    }
    return survivors_[tree];
}

}  // namespace freshet::engine
