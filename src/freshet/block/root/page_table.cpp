// SPDX-License-Identifier: Apache-2.0
#include "freshet/block/root/page_table.h"

#include "freshet/base/counted_allocator.h"

#include <absl/container/btree_map.h>

namespace freshet::block {

namespace {

struct ByteCount {
    uint64_t* bytes = nullptr;

    void add(size_t more) const { *bytes += more; }
    void subtract(size_t less) const { *bytes -= less; }
    bool operator==(const ByteCount&) const = default;
};

}  // namespace

struct PageTable::Tree {
    using Allocator = CountedAllocator<std::pair<const PageId, PagePlace>, ByteCount>;

    uint64_t bytes = 0;
    absl::btree_map<PageId, PagePlace, std::less<PageId>, Allocator> places{
        Allocator(ByteCount{&bytes})};
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

uint64_t PageTable::bytes() const {
    return tree_ == nullptr ? 0 : tree_->bytes;
}

Status PageTable::forEach(const std::function<Status(PageId, const PagePlace&)>& sink) const {
    for (const auto& [page, place] : tree_->places) {
        FRESHET_RETURN_IF_ERROR(sink(page, place));
    }
    return Status::ok();
}

}  // namespace freshet::block
