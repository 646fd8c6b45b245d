// SPDX-License-Identifier: Apache-2.0
/// Builds a tree in memory from its images, level by level, and heals disagreements between images
/// of different age (docs/design/engine.md, "Recovery"): a page whose image reaches beyond the next
/// page that its parent names is cut off there; a page that its parent does not name is found
/// through the image to its left.
#pragma once

#include "freshet/base/status.h"
#include "freshet/engine/page/page_image.h"
#include "freshet/engine/tree/page_tree.h"

#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace freshet::engine {

/// A readable page, as a candidate for what a damaged page led to.
struct Survivor {
    PageId page = 0;
    int level = 0;
    std::string low;
};

/// What happens to leaves.
enum class Leaves : uint8_t {
    kOnDisk,   // read only if the map does not tell enough of them, and never kept in memory
    kChecked,  // read with their large values, and kept only if they are healed
    kKept,     // read and kept
};

/// Where images come from, and what loading reports about them. One thread.
class PageSource {
public:
    virtual ~PageSource() = default;
    /// kNotFound: there is no such page. kCorruption: it is damaged.
    virtual Status readPage(PageId page, std::string* image) = 0;
    /// The page belongs to that tree; `isValue`: it holds a large value.
    virtual void noteUsed(uint32_t tree, PageId page, bool isValue) = 0;
    /// The place of the page's image; blocks == 0: there is no such page.
    virtual block::PagePlace placeOf(PageId page) const = 0;
    virtual Leaves leaves() const = 0;
    /// The note of a page that was read; the map lacks it.
    virtual void learnNote(PageId page, uint64_t note) = 0;
    /// Whether loading goes on without damaged pieces.
    virtual bool canLose() const = 0;
    /// The content of a damaged piece is lost; `what` describes it for people. REQUIRES: canLose().
    virtual void lose(const std::string& what) = 0;
    /// After a loss: all readable pages of the tree, ordered by their low fences.
    virtual const std::vector<Survivor>& survivors(uint32_t tree) = 0;
};

class TreeLoader {
public:
    /// REQUIRES: no other thread uses the tree, and it is empty. Healed pages are due for the next
    /// checkpoint.
    TreeLoader(TreeEnv& env, PageTree& tree, PageSource& source)
        : env_(env), tree_(tree), source_(source) {}

    Status buildTree();

private:
    /// A range of keys, as the level above knows it, and the page that begins there.
    struct Range {
        PageId page = 0;
        std::string low;
        std::string high;
    };
    struct Loaded {
        PageEntry* entry;
        Node* node;
    };

    Status loadLevel();
    Status loadRange(const Range& range);
    /// The number of the leaf's entries, if the map says that it is the leaf that the level above
    /// means: then it need not be read.
    std::optional<uint32_t> knownEntries(const block::PagePlace& place,
                                         ByteView low,
                                         ByteView high) const;
    StatusOr<PageImage> read(PageId page, ByteView low, std::string* bytes);
    Status checkNote(PageId page, const PageImage& image);
    /// `healed`: the image no longer matches the page.
    Status add(PageId page, std::string low, std::string high, const PageImage& image, bool healed);
    Status add(PageId page, Node* node, bool healed);
    /// A leaf that stays on disk; its large values are not read.
    StatusOr<Node*> makeDiskLeaf(ByteView low, ByteView high, const PageImage& image);
    /// Replaces a leaf that was read and found good by a DiskLeaf, unless it is to stay.
    Node* putAside(Node* node);
    Status losePage(const Range& range, PageId page, std::string low, const Status& why);
    /// `healed`: values were lost.
    StatusOr<Node*> makeLeaf(std::string low,
                             std::string high,
                             const PageImage& image,
                             bool* healed);
    /// Makes an inner page that leads to all readable pages that the damaged one may have led to.
    StatusOr<Node*> makeInnerAnew(const std::string& low, const std::string& high);
    StatusOr<Node*> makeInner(std::string low, std::string high, const PageImage& image);
    /// Claims the page of a large value, which no other leaf may have.
    Status claimLarge(const PageCell& cell);
    Status readLarge(const PageCell& cell, ValueRef* value);
    PageEntry* entryOf(PageId page);
    Status damaged(PageId page, const std::string& what) const;

    TreeEnv& env_;
    PageTree& tree_;
    PageSource& source_;
    int level_ = -1;              // -1: the root's, not known yet
    std::vector<Range> ranges_;   // of this level
    std::vector<Range> below_;    // of the next
    std::vector<Loaded> loaded_;  // of this level, from left to right
    std::unordered_map<PageId, PageEntry*> entries_;
    std::unordered_set<PageId> used_;
};

}  // namespace freshet::engine
