// SPDX-License-Identifier: Apache-2.0
/// All pages of one tree, from the moment they are made or loaded to the end of the tree.
#pragma once

#include "freshet/engine/node/node.h"
#include "freshet/engine/tree/resident_pages.h"
#include "freshet/engine/tree/tree_env.h"
#include "freshet/sync/atomic.h"

#include <cstdint>

namespace freshet::engine {

class PageList {
public:
    /// `rootPage` is the root's page id, and the tree's. `residents` gets each page whose leaf is
    /// in memory, from just before the leaf can be written to; the root is always in it.
    PageList(TreeEnv* env, uint32_t rootPage, ResidentPages* residents)
        : env_(*env), residents_(*residents), root_(rootPage) {}
    /// REQUIRES: no other thread can reach the tree. Frees pages and nodes, with their versions.
    ~PageList();
    PageList(const PageList&) = delete;
    PageList& operator=(const PageList&) = delete;

    const PageEntry& root() const { return root_; }
    PageEntry& root() { return root_; }
    /// The tree begins with this leaf. REQUIRES: no other thread knows the tree.
    void begin(LeafNode* leaf);

    /// A page that takes over a part of `origin`. It has no mark: the origin's mark stays until a
    /// scan of the origin as it is then, which leads to the new page (INV-engine-13).
    PageEntry* add(Node* node, PageEntry* origin);
    /// Its split was installed.
    void setLive(PageEntry* entry);
    /// Its split was not installed.
    void setDead(PageEntry* entry);

    /// Calls visit(PageEntry&) for each page whose split was installed or may have been, the newest
    /// first, so that a page comes before the one it was split from. A page that is made meanwhile
    /// may be missed. For the checkpoint's thread.
    template <typename Visit>
    void forEach(Visit visit) const {
        for (PageEntry* e = newest(); e != nullptr; e = e->older) {
            if (isInTree(*e)) {
                visit(*e);
            }
        }
    }
    /// The first page in the list; the others follow through PageEntry::older.
    PageEntry* newest() const {
        // [page.walk] acquire: pairs with [page.add].
        return pages_.load(sync::kAcquire);
    }
    /// Neither dead nor gone.
    static bool isInTree(const PageEntry& entry) {
        // [page.state] acquire: pairs with [page.live].
        const PageState state = entry.state.load(sync::kAcquire);
        return state != PageState::kDead && state != PageState::kGone;
    }

    // While the tree is loaded. REQUIRES: no other thread uses the tree.
    PageEntry* addLoaded(PageId page);
    PageEntry* loadedRoot();
    void setLoadedNode(PageEntry* entry, Node* node);

private:
    TreeEnv& env_;
    ResidentPages& residents_;
    PageEntry root_;
    /// All pages of the tree, through PageEntry::older; the root is the last.
    ///   STEPS    pages are added in front [page.add]; the checkpoint takes out dead ones and gone
    ///            ones, but never the first
    ///   RECLAIM  with the tree, or later; only the checkpoint's thread walks through the list
    sync::Atomic<PageEntry*> pages_{nullptr};
};

}  // namespace freshet::engine
