// SPDX-License-Identifier: Apache-2.0
/// Leaves made from their images.
#pragma once

#include "freshet/block/page_buffer.h"
#include "freshet/engine/node/disk_leaf.h"
#include "freshet/engine/page/page_image.h"
#include "freshet/engine/tree/page_tree.h"

#include <functional>
#include <memory_resource>
#include <span>
#include <string>
#include <vector>

namespace freshet::engine {

/// The image's keys below `high`, without their first `prefixLen` bytes. Views into the image if
/// the image leaves out the same prefix; else into one buffer.
class TailsBelow {
public:
    /// The views lie in the image's memory. REQUIRES: prefixLen <= the length of the image's
    /// prefix, or all keys below `high` share that many bytes.
    TailsBelow(const PageImage& image, ByteView high, size_t prefixLen);
    std::span<const ByteView> tails() const { return tails_; }

private:
    void takeWhole(const PageImage& image, ByteView high, size_t prefixLen);
    std::string bytes_;
    std::pmr::vector<ByteView> tails_;
};

/// Values with references that keep the shared ones.
class HeldValues {
public:
    /// `slabs` as of ValueBuffer::create(); `memory` is for the references.
    explicit HeldValues(platform::Slabs* slabs,
                        std::pmr::memory_resource* memory = std::pmr::get_default_resource())
        : values(memory), slabs_(slabs) {}
    ~HeldValues();
    HeldValues(const HeldValues&) = delete;
    HeldValues& operator=(const HeldValues&) = delete;
    /// A value inside the image, which will lie in the leaf: a buffer for each value would cost
    /// more than the read, and most leaves are read for one of their values.
    void add(ByteView value) { values.push_back({value, nullptr}); }
    /// A large value that was read from its page.
    void addLarge(ByteView value);
    std::pmr::vector<ValueRef> values;

private:
    platform::Slabs* const slabs_;
};

/// Reads a page's image from its place; the bytes are valid until the buffer is used again.
using ReadImage =
    std::function<StatusOr<ByteView>(PageId, const block::PagePlace&, block::PageBuffer*)>;

/// Makes the leaf of an evicted page from the image it left; LeafEviction::bringBack() sets its
/// right neighbour. The image may be older than a split and reach beyond the leaf. `buffer`
/// receives the image. Its memory becomes the leaf's if the leaf uses nearly all of it: then
/// nothing is copied. `readImage` is called for the leaf's own page first, then for the pages of
/// its large values in order. kCorruption: the image is not that page's.
StatusOr<LeafNode*> leafFromImage(TreeEnv& env,
                                  PageTree& tree,
                                  const PageEntry& entry,
                                  const DiskLeaf& away,
                                  const ReadImage& readImage,
                                  block::PageBuffer* buffer);

}  // namespace freshet::engine
