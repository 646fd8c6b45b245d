// SPDX-License-Identifier: Apache-2.0
/// The order in which the eviction looks at leaves; leaves that wait for an image neither hold it
/// up nor get lost. With other threads: tree_explore_test.cpp.
#include "freshet/engine/tree/resident_pages.h"

#include <gtest/gtest.h>

#include <deque>
#include <set>
#include <vector>

namespace freshet::engine {
namespace {

class ResidentQueue : public ::testing::Test {
protected:
    void addPages(PageId count) {
        for (PageId id = 1; id <= count; ++id) {
            entries_.emplace_back(id);
            pages_.add(&entries_.back());
            pages_.takeIn([](PageEntry*) {});
        }
    }
    /// The eviction looks at `count` pages, of which those in waiting_ have no image yet.
    std::vector<PageId> look(size_t count) {
        std::vector<PageId> seen;
        for (size_t i = 0; i < count; ++i) {
            PageEntry* page = pages_.takeFirst();
            seen.push_back(page->id);
            waiting_.contains(page->id) ? pages_.setAside(page) : pages_.putLast(page);
        }
        return seen;
    }
    void takeBack() {
        pages_.takeBack([this](const PageEntry* page) { return waiting_.contains(page->id); });
    }
    size_t count() {
        return pages_.takeIn([](PageEntry*) {});
    }
    std::vector<PageId> all() const {
        std::vector<PageId> found;
        pages_.forEach([&](const PageEntry* page) { found.push_back(page->id); });
        return found;
    }

    using Pages = std::vector<PageId>;
    std::deque<PageEntry> entries_;
    ResidentPages pages_;
    std::set<PageId> waiting_;
};

TEST_F(ResidentQueue, PagesTakeTurns) {
    addPages(3);
    EXPECT_EQ(look(5), (Pages{1, 2, 3, 1, 2}));
    EXPECT_EQ(count(), 3u);
}

TEST_F(ResidentQueue, ThoseThatWaitAreMetOnceAndComeFirstWhenTheyAreWritten) {
    addPages(5);
    waiting_ = {2, 3, 5};
    EXPECT_EQ(look(5), (Pages{1, 2, 3, 4, 5}));
    EXPECT_EQ(count(), 2u);
    EXPECT_EQ(look(3), (Pages{1, 4, 1}));
    EXPECT_EQ(all(), (Pages{2, 3, 5, 4, 1})) << "the checkpoint has to find them as well";
    waiting_ = {5};
    takeBack();
    EXPECT_EQ(count(), 4u);
    EXPECT_EQ(look(4), (Pages{2, 3, 4, 1}));
    pages_.takeAllBack();
    EXPECT_EQ(look(5), (Pages{5, 2, 3, 4, 1}));
    EXPECT_EQ(count(), 4u) << "it still waits";
}

TEST_F(ResidentQueue, EachOfManyIsAskedSoon) {
    constexpr PageId kPages = 400;
    addPages(kPages);
    for (PageId id = 1; id <= kPages; ++id) {
        waiting_.insert(id);
    }
    look(kPages);
    EXPECT_EQ(count(), 0u);
    waiting_ = {7, 300};
    takeBack();
    EXPECT_EQ(count(), kPages / 4 - 1) << "not of all at once";
    for (int i = 0; i < 12; ++i) {
        takeBack();
    }
    EXPECT_EQ(count(), kPages - 2);
    pages_.takeAllBack();
    look(kPages);
    EXPECT_EQ(count(), kPages - 2);
}

TEST_F(ResidentQueue, ThoseThatLeaveTheTreeLeaveItEverywhere) {
    addPages(4);
    waiting_ = {1, 2};
    look(4);
    entries_.emplace_back(5);
    entries_.emplace_back(6);
    pages_.add(&entries_[4]);
    pages_.add(&entries_[5]);
    pages_.removeIf([](const PageEntry* page) { return page->id % 2 == 0; });
    pages_.takeAllBack();
    EXPECT_EQ(count(), 3u);
    EXPECT_EQ(look(3), (Pages{1, 3, 5}));
    pages_.removeIf([](const PageEntry*) { return true; });
    EXPECT_EQ(pages_.takeFirst(), nullptr);
    EXPECT_EQ(count(), 0u);
}

}  // namespace
}  // namespace freshet::engine
