// SPDX-License-Identifier: Apache-2.0
#include "freshet/block/root/page_table.h"

#include <absl/container/btree_map.h>

namespace freshet::block {

struct PageTable::Tree {
    absl::btree_map<PageId, PagePlace> places;
};

PageTable::PageTable() : tree_(std::make_unique<Tree>()) {}
PageTable::~PageTable() = default;
PageTable::PageTable(PageTable&&) noexcept = default;
PageTable& PageTable::operator=(PageTable&&) noexcept = default;

PagePlace PageTable::put(PageId page, const PagePlace& place) {
    auto [found, added] = tree_->places.try_emplace(page, place);
    return added ? PagePlace{} : std::exchange(found->second, place);
}

PagePlace PageTable::remove(PageId page) {
    auto found = tree_->places.find(page);
    if (found == tree_->places.end()) {
        return {};
    }
    const PagePlace place = found->second;
    tree_->places.erase(found);
    return place;
}

const PagePlace* PageTable::find(PageId page) const {
    auto found = tree_->places.find(page);
    return found == tree_->places.end() ? nullptr : &found->second;
}

size_t PageTable::size() const {
    return tree_->places.size();
}

Status PageTable::forEach(const std::function<Status(PageId, const PagePlace&)>& sink) const {
    for (const auto& [page, place] : tree_->places) {
        FRESHET_RETURN_IF_ERROR(sink(page, place));
    }
    return Status::ok();
}

}  // namespace freshet::block
