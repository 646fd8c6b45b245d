// SPDX-License-Identifier: Apache-2.0
/// Builds a tree in memory from its images, level by level, and heals what images of different age
/// disagree about (DESIGN 7.2 (d)): a page whose image reaches beyond the next page that its parent
/// names is cut off there; a page that its parent does not name is found through the image to its
/// left.
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

/// A page that can be read, as one looks for what a damaged page led to.
struct Survivor {
    PageId page = 0;
    int level = 0;
    std::string low;
};

/// What becomes of leaves.
enum class Leaves : uint8_t {
    kOnDisk,   // not read where the map tells enough of them, and never kept
    kChecked,  // read with their large values, and kept only if they are healed
    kKept,     // read and kept
};

/// Where images come from, and what became of them. One thread.
class PageSource {
public:
    virtual ~PageSource() = default;
    /// kNotFound: there is no such page. kCorruption: it is damaged.
    virtual Status readPage(PageId page, std::string* image) = 0;
    /// The page belongs to that tree; `isValue`: it holds one of its large values.
    virtual void noteUsed(uint32_t tree, PageId page, bool isValue) = 0;
    /// Where the page's image lies; blocks == 0: there is no such page.
    virtual block::PagePlace placeOf(PageId page) const = 0;
    virtual Leaves leaves() const = 0;
    /// What is to be noted of a page that was read, and is not.
    virtual void learnNote(PageId page, uint64_t note) = 0;
    /// Whether loading goes on without damaged pieces.
    virtual bool canLose() const = 0;
    /// REQUIRES: canLose(). What was in a damaged piece is lost; `what` tells people.
    virtual void lose(const std::string& what) = 0;
    /// After a loss: all pages of the tree that can be read, by their low fences.
    virtual const std::vector<Survivor>& survivors(uint32_t tree) = 0;
};

class TreeLoader {
public:
    /// REQUIRES: nobody else uses the tree, which is empty. Pages that were healed are due for the
    /// next checkpoint.
    TreeLoader(TreeEnv& env, PageTree& tree, PageSource& source)
        : env_(env), tree_(tree), source_(source) {}

    Status buildTree();

private:
    /// A stretch of the key space, as the level above knows it, and the page that begins there.
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
    /// How many entries the leaf has, if the map says that it is what the level above means: then
    /// it need not be read.
    std::optional<uint32_t> knownEntries(const block::PagePlace& place,
                                         ByteView low,
                                         ByteView high) const;
    StatusOr<PageImage> read(PageId page, ByteView low, std::string* bytes);
    Status checkNote(PageId page, const PageImage& image);
    /// `healed`: the page's image is not what it is from now on.
    Status add(PageId page, std::string low, std::string high, const PageImage& image, bool healed);
    Status add(PageId page, Node* node, bool healed);
    /// A leaf that stays on disk, without the values that lie on pages of their own.
    StatusOr<Node*> makeDiskLeaf(ByteView low, ByteView high, const PageImage& image);
    /// A DiskLeaf in the place of a leaf that was read and found good, if it need not stay.
    Node* putAside(Node* node);
    Status losePage(const Range& range, PageId page, std::string low, const Status& why);
    /// `healed`: values were lost.
    StatusOr<Node*> makeLeaf(std::string low,
                             std::string high,
                             const PageImage& image,
                             bool* healed);
    /// Leads to all survivors that the damaged page may have led to.
    StatusOr<Node*> makeInnerAnew(const std::string& low, const std::string& high);
    StatusOr<Node*> makeInner(std::string low, std::string high, const PageImage& image);
    /// The page of a large value, which no other leaf may have.
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
