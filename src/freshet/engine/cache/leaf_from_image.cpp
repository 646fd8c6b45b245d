// SPDX-License-Identifier: Apache-2.0
#include "freshet/engine/cache/leaf_from_image.h"

#include <array>
#include <cstddef>

namespace freshet::engine {

TailsBelow::TailsBelow(const PageImage& image, ByteView high, size_t prefixLen)
    : tails_(image.cells.get_allocator()) {
    tails_.reserve(image.cells.size());
    if (high != image.head.high || prefixLen != image.head.prefix.size()) {
        takeWhole(image, high, prefixLen);
        return;
    }
    for (const PageCell& cell : image.cells) {
        tails_.push_back(cell.tail);
    }
}

void TailsBelow::takeWhole(const PageImage& image, ByteView high, size_t prefixLen) {
    const ByteView prefix = image.head.prefix;
    size_t bytes = 0;
    for (const PageCell& cell : image.cells) {
        bytes += prefix.size() + cell.tail.size();
    }
    bytes_.reserve(bytes);  // the views stay valid
    for (const PageCell& cell : image.cells) {
        const size_t begin = bytes_.size();
        bytes_.append(prefix).append(cell.tail);
        const ByteView key = ByteView(bytes_).substr(begin);
        if (!high.empty() && key >= high) {
            break;
        }
        tails_.push_back(key.substr(prefixLen));
    }
}

HeldValues::~HeldValues() {
    for (const ValueRef& value : values) {
        if (value.shared != nullptr) {
            value.shared->drop();
        }
    }
}

void HeldValues::addLarge(ByteView value) {
    ValueBuffer* buffer = ValueBuffer::create(value, slabs_);
    values.push_back({buffer->bytes(), buffer});
}

namespace {

/// Adds the value, without its page so far: if it had one, freeing the value would free the page.
Status addLarge(const DiskLeaf::LargeValue& large,
                const PageCell& cell,
                const ReadImage& readImage,
                HeldValues* held) {
    block::PageBuffer buffer;
    FRESHET_ASSIGN_OR_RETURN(const ByteView bytes, readImage(large.page, large.place, &buffer));
    FRESHET_ASSIGN_OR_RETURN(const ByteView value, readLargeValue(bytes));
    if (cell.page != large.page || cell.valueBytes != value.size()) {
        return Status(Code::kCorruption, "the large value belongs to another key");
    }
    held->addLarge(value);
    return Status::ok();
}

/// Whether the page's memory is little more than that of its values, all of which are used.
bool isMostlyValues(const PageImage& image, size_t taken, size_t room) {
    constexpr size_t kWastedPart = 6;
    size_t bytes = 0;
    for (const PageCell& cell : image.cells) {
        bytes += cell.value.size();
    }
    return taken == image.cells.size() && bytes >= room - room / kWastedPart;
}

}  // namespace

StatusOr<LeafNode*> leafFromImage(TreeEnv& env,
                                  PageTree& tree,
                                  const PageEntry& entry,
                                  const DiskLeaf& away,
                                  const ReadImage& readImage,
                                  block::PageBuffer* buffer) {
    // Enough for a leaf of documents: a read then allocates only the leaf.
    std::array<std::byte, 8192> room;
    std::pmr::monotonic_buffer_resource memory(room.data(), room.size());
    FRESHET_ASSIGN_OR_RETURN(const ByteView bytes, readImage(entry.id, entry.place, buffer));
    FRESHET_ASSIGN_OR_RETURN(const PageImage image, readPageImage(bytes, &memory));
    const PageHead& head = image.head;
    const bool reaches = head.high.empty() || (!away.high.empty() && head.high >= away.high);
    if (head.page != entry.id || head.tree != tree.id() || head.level != 0 ||
        head.low != away.low || !reaches) {
        return Status(Code::kCorruption, "the image belongs to another leaf");
    }
    const ByteView end = mutated(Mutant::kBringBackWhole) ? ByteView() : away.high.view();
    const TailsBelow below(image, end, away.prefixLen);
    if (below.tails().size() != away.entries) {
        return Status(Code::kCorruption,
                      "it should have " + std::to_string(away.entries) + " entries, but has " +
                          std::to_string(below.tails().size()));
    }
    HeldValues held(env.slabs, &memory);
    held.values.reserve(below.tails().size());
    std::vector<ValueBuffer*> large;
    for (size_t i = 0; i < below.tails().size(); ++i) {
        const PageCell& cell = image.cells[i];
        if (cell.page == 0) {
            held.add(cell.value);
            continue;
        }
        if (large.size() == away.largeValues().size()) {
            return Status(Code::kCorruption, "one large value too many");
        }
        FRESHET_RETURN_IF_ERROR(addLarge(away.largeValues()[large.size()], cell, readImage, &held));
        large.push_back(held.values.back().shared);
    }
    for (size_t i = 0; i < large.size(); ++i) {
        const DiskLeaf::LargeValue& at = away.largeValues()[i];
        large[i]->setPage(at.page, at.place, &env.freedValues);
    }
    const bool stays = large.empty() && isMostlyValues(image, held.values.size(), buffer->room());
    return tree.newLeaf(away.low,
                        away.high,
                        below.tails(),
                        held.values,
                        stays ? std::move(*buffer) : block::PageBuffer());
}

}  // namespace freshet::engine
