// SPDX-License-Identifier: Apache-2.0
#include "freshet/engine/recovery/tree_loader.h"

#include "freshet/engine/cache/leaf_from_image.h"
#include "freshet/engine/loss.h"
#include "freshet/engine/page/leaf_note.h"

#include <algorithm>

namespace freshet::engine {

Status TreeLoader::damaged(PageId page, const std::string& what) const {
    return Status(
        Code::kCorruption,
        "tree " + std::to_string(tree_.id()) + ", page " + std::to_string(page) + ": " + what);
}

PageEntry* TreeLoader::entryOf(PageId page) {
    PageEntry*& entry = entries_[page];
    if (entry == nullptr) {
        entry =
            page == tree_.id() ? tree_.allPages().loadedRoot() : tree_.allPages().addLoaded(page);
    }
    return entry;
}

Status TreeLoader::buildTree() {
    ranges_.push_back({tree_.id(), "", ""});
    while (!ranges_.empty()) {
        FRESHET_RETURN_IF_ERROR(loadLevel());
        ranges_ = std::move(below_);
        below_.clear();
        --level_;
    }
    return Status::ok();
}

Status TreeLoader::loadLevel() {
    loaded_.clear();
    for (const Range& range : ranges_) {
        FRESHET_RETURN_IF_ERROR(loadRange(range));
    }
    for (size_t i = 0; i + 1 < loaded_.size(); ++i) {
        loaded_[i].node->right = loaded_[i + 1].entry;
    }
    return Status::ok();
}

Status TreeLoader::loadRange(const Range& range) {
    PageId page = range.page;
    std::string low = range.low;
    for (;;) {
        if (!used_.insert(page).second) {
            return damaged(page, "is in the tree twice");
        }
        const block::PagePlace place = source_.placeOf(page);
        if (const auto entries = knownEntries(place, low, range.high)) {
            level_ = 0;
            return add(page, new DiskLeaf(low, range.high, *entries, {}), false);
        }
        std::string bytes;
        StatusOr<PageImage> image = read(page, low, &bytes);
        if (!image.isOk()) {
            return losePage(range, page, std::move(low), image.status());
        }
        const std::string high(image->head.high);
        const bool beyond = !range.high.empty() && (high.empty() || high > range.high);
        FRESHET_RETURN_IF_ERROR(add(page, low, beyond ? range.high : high, *image, beyond));
        if (beyond || high == range.high) {
            return Status::ok();
        }
        page = image->head.right;
        low = high;
    }
}

std::optional<uint32_t> TreeLoader::knownEntries(const block::PagePlace& place,
                                                 ByteView low,
                                                 ByteView high) const {
    const std::optional<LeafNote> note = readNote(place.note);
    const bool known = source_.leaves() == Leaves::kOnDisk && level_ <= 0 && note.has_value() &&
                       !note->hasLargeValues && note->fences == fencesOf(tree_.id(), low, high);
    return known ? std::optional<uint32_t>(note->entries) : std::nullopt;
}

StatusOr<PageImage> TreeLoader::read(PageId page, ByteView low, std::string* bytes) {
    Status status = source_.readPage(page, bytes);
    if (status.code() == Code::kNotFound) {
        return damaged(page, "is missing");
    }
    FRESHET_RETURN_IF_ERROR(status);
    StatusOr<PageImage> image = readPageImage(*bytes);
    if (!image.isOk()) {
        return std::move(image).status().withContext("page " + std::to_string(page));
    }
    const PageHead& head = image->head;
    if (head.page != page || head.tree != tree_.id()) {
        return damaged(page, "has the image of another page");
    }
    if (level_ >= 0 && head.level != level_) {
        return damaged(page, "is on another level");
    }
    if (head.low != low) {
        return damaged(page, "begins at another key");
    }
    if (head.high.empty() != (head.right == 0)) {
        return damaged(page, "has a right neighbour but no upper fence, or the reverse");
    }
    FRESHET_RETURN_IF_ERROR(checkNote(page, *image));
    return image;
}

Status TreeLoader::checkNote(PageId page, const PageImage& image) {
    const uint64_t noted = source_.placeOf(page).note;
    const uint64_t note = noteOf(image);
    if (noted == note) {
        return Status::ok();
    }
    if (noted != kNoNote) {
        const Status wrong = damaged(page, "does not match its note in the page map");
        if (!source_.canLose()) {
            return wrong;
        }
        // Nothing is lost: the image is whole, and the map's note is corrected.
        source_.lose(std::string(wrong.text()));
    }
    source_.learnNote(page, note);
    return Status::ok();
}

Status TreeLoader::losePage(const Range& range, PageId page, std::string low, const Status& why) {
    if (why.code() != Code::kCorruption) {
        return why;
    }
    if (!source_.canLose()) {
        return why;
    }
    if (level_ < 0) {
        for (const Survivor& survivor : source_.survivors(tree_.id())) {
            level_ = std::max(level_, survivor.level);
        }
        ++level_;
    }
    const std::string what = std::string(why.text()) + "; ";
    if (level_ == 0) {
        source_.lose(what + textOf(TreeLoss{tree_.id(), low, range.high}));
        return add(page, std::move(low), range.high, PageImage{}, true);
    }
    source_.lose(what + "tree " + std::to_string(tree_.id()) +
                 " had an inner page there, which was made anew");
    FRESHET_ASSIGN_OR_RETURN(Node * node, makeInnerAnew(low, range.high));
    return add(page, node, true);
}

Status TreeLoader::add(
    PageId page, std::string low, std::string high, const PageImage& image, bool healed) {
    level_ = image.head.level;
    if (level_ == 0 && source_.leaves() == Leaves::kOnDisk) {
        FRESHET_ASSIGN_OR_RETURN(Node * node, makeDiskLeaf(low, high, image));
        return add(page, node, healed);
    }
    FRESHET_ASSIGN_OR_RETURN(
        Node * node,
        level_ == 0 ? makeLeaf(low, high, image, &healed) : makeInner(low, high, image));
    return add(page, healed ? node : putAside(node), healed);
}

StatusOr<Node*> TreeLoader::makeDiskLeaf(ByteView low, ByteView high, const PageImage& image) {
    const size_t entries = TailsBelow(image, high, fencePrefix(low, high)).tails().size();
    std::vector<DiskLeaf::LargeValue> large;
    for (size_t i = 0; i < entries; ++i) {
        if (const PageCell& cell = image.cells[i]; cell.page != 0) {
            FRESHET_RETURN_IF_ERROR(claimLarge(cell));
            large.push_back({cell.page, source_.placeOf(cell.page)});
            source_.noteUsed(tree_.id(), cell.page, true);
        }
    }
    return new DiskLeaf(low, high, entries, std::move(large));
}

Node* TreeLoader::putAside(Node* node) {
    if (!node->isLeaf() || source_.leaves() == Leaves::kKept) {
        return node;
    }
    const auto* leaf = static_cast<LeafNode*>(node);
    auto* away = new DiskLeaf(*leaf, leaf->image.keys().size(), leaf->image.pageBytes());
    leaf->leaveLargeValues();
    destroyNode(node);
    return away;
}

Status TreeLoader::add(PageId page, Node* node, bool healed) {
    PageEntry* entry = entryOf(page);
    entry->place = source_.placeOf(page);
    tree_.allPages().setLoadedNode(entry, node);
    loaded_.push_back({entry, node});
    source_.noteUsed(tree_.id(), page, false);
    if (healed) {
        tree_.images().lowerMarkAway(entry, env_.commitLow());
    }
    return Status::ok();
}

StatusOr<Node*> TreeLoader::makeLeaf(std::string low,
                                     std::string high,
                                     const PageImage& image,
                                     bool* healed) {
    const size_t prefixLen = fencePrefix(low, high);
    const TailsBelow below(image, high, prefixLen);
    std::vector<ByteView> tails;
    HeldValues held(env_.slabs);
    for (size_t i = 0; i < below.tails().size(); ++i) {
        const PageCell& cell = image.cells[i];
        if (cell.page == 0) {
            held.add(cell.value);
        } else {
            ValueRef value;
            Status status = readLarge(cell, &value);
            if (status.code() == Code::kCorruption && source_.canLose()) {
                source_.lose(
                    std::string(status.text()) + "; " +
                    textOf(TreeLoss{
                        tree_.id(), low.substr(0, prefixLen).append(below.tails()[i]), "", true}));
                *healed = true;
                continue;
            }
            FRESHET_RETURN_IF_ERROR(status);
            held.values.push_back(value);
        }
        tails.push_back(below.tails()[i]);
    }
    return tree_.newLeaf(std::move(low), std::move(high), tails, held.values);
}

Status TreeLoader::claimLarge(const PageCell& cell) {
    if (!used_.insert(cell.page).second) {
        return damaged(cell.page, "is in the tree twice");
    }
    return source_.placeOf(cell.page).extent.blocks == 0 ? damaged(cell.page, "is missing")
                                                         : Status::ok();
}

Status TreeLoader::readLarge(const PageCell& cell, ValueRef* value) {
    FRESHET_RETURN_IF_ERROR(claimLarge(cell));
    std::string bytes;
    FRESHET_RETURN_IF_ERROR(source_.readPage(cell.page, &bytes));
    StatusOr<ByteView> found = readLargeValue(bytes);
    if (!found.isOk()) {
        return std::move(found).status().withContext("page " + std::to_string(cell.page));
    }
    if (found->size() != cell.valueBytes) {
        return damaged(cell.page, "does not have the length that its key says");
    }
    value->shared = ValueBuffer::create(*found, env_.slabs);
    value->bytes = value->shared->bytes();
    value->shared->setPage(cell.page, source_.placeOf(cell.page), &env_.freedValues);
    source_.noteUsed(tree_.id(), cell.page, true);
    return Status::ok();
}

StatusOr<Node*> TreeLoader::makeInnerAnew(const std::string& low, const std::string& high) {
    PageImage image;
    for (const Survivor& survivor : source_.survivors(tree_.id())) {
        const bool here = survivor.level + 1 == level_ && survivor.low >= low &&
                          (high.empty() || survivor.low < high) && used_.count(survivor.page) == 0;
        if (!here) {
            continue;
        }
        if (survivor.low == low) {
            image.head.firstChild = survivor.page;
        } else if (image.cells.empty() || image.cells.back().tail != survivor.low) {
            image.cells.push_back({survivor.low, {}, survivor.page, 0});
        }
    }
    if (image.head.firstChild == 0) {
        // It will be found missing, and rebuilt in the same way.
        // [page.number] relaxed: no other thread uses the store yet.
        image.head.firstChild = env_.nextPageId.fetch_add(1, sync::kRelaxed);
    }
    return makeInner(low, high, image);
}

StatusOr<Node*> TreeLoader::makeInner(std::string low, std::string high, const PageImage& image) {
    const TailsBelow keys(image, high, 0);
    std::vector<std::string> separators(keys.tails().begin(), keys.tails().end());
    std::vector<PageEntry*> children{entryOf(image.head.firstChild)};
    below_.push_back({image.head.firstChild, low, ""});
    for (size_t i = 0; i < separators.size(); ++i) {
        const PageId child = image.cells[i].page;
        children.push_back(entryOf(child));
        below_.back().high = separators[i];
        below_.push_back({child, separators[i], ""});
    }
    below_.back().high = high;
    const auto level = static_cast<uint8_t>(level_);
    return new InnerNode(
        level, std::move(low), std::move(high), nullptr, separators, std::move(children));
}

}  // namespace freshet::engine
