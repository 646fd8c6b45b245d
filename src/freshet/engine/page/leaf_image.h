// SPDX-License-Identifier: Apache-2.0
/// The base of a leaf: sorted keys, each with the value that every snapshot in use may see.
/// Immutable; owned by its node. Small values are copied into it, or stay in the page they were
/// read with; large ones are shared.
#pragma once

#include "freshet/block/page_buffer.h"
#include "freshet/engine/keys/key_array.h"
#include "freshet/engine/value/version.h"

#include <memory>
#include <span>

namespace freshet::engine {

class LeafImage {
public:
    LeafImage() = default;
    /// `values[i]` belongs to `tails[i]`; the image takes references to the shared ones.
    LeafImage(std::span<const ByteView> tails, std::span<const ValueRef> values)
        : LeafImage(tails, values, block::PageBuffer()) {}
    /// If `page` has memory, the values lie in it in order, none is shared, and they stay there: no
    /// copy, but the rest of the page's memory is kept as well.
    LeafImage(std::span<const ByteView> tails,
              std::span<const ValueRef> values,
              block::PageBuffer page);
    ~LeafImage();
    LeafImage(const LeafImage&) = delete;
    LeafImage& operator=(const LeafImage&) = delete;

    const KeyArray& keys() const { return keys_; }
    ValueRef value(uint32_t i) const;
    /// Prefetches what a search reads first, so that the cache misses overlap.
    void prefetch() const {
        keys_.prefetch();
        if (blockBytes_ <= kAskedBytesMax) {
            askFor(block_.get(), blockBytes_);
        }
    }
    /// Calls visit(ValueBuffer&) for each value that has or will have a page of its own on disk.
    template <typename Visit>
    void forEachLarge(const Visit& visit) const {
        for (uint32_t i = 0; hasLargeValues_ && i < keys_.size(); ++i) {
            if (const ValueRef value = this->value(i); value.bytes.size() >= kLargeValueBytesMin) {
                visit(*value.shared);
            }
        }
    }
    bool hasLargeValues() const { return hasLargeValues_; }
    /// Bytes of the values that it shares with others.
    size_t sharedBytes() const { return sharedBytes_; }
    /// Prefetches in steps, each for what the next one reads: the cell, if it has one, ...
    bool askForCell(uint32_t i) const {
        if (!isEven()) {
            __builtin_prefetch(cells() + i);
        }
        return !isEven();
    }
    /// ... and what it names.
    void askForValue(uint32_t i) const {
        __builtin_prefetch(values_ + (isEven() ? size_t{i} * stride_ : size_t{cells()[i].offset}));
    }
    size_t memoryBytes() const { return keys_.memoryBytes() + blockBytes_ + page_.room(); }
    /// The size of its entries, as counted for the page's size.
    size_t pageBytes() const { return pageBytes_; }

    /// The size of one entry, as counted for a page's size.
    static size_t entryBytes(size_t keyBytes, const ValueRef& value);

private:
    struct Cell {
        uint32_t offset;
        uint32_t bytes : 31;
        uint32_t shared : 1;
    };
    /// Cells and pointers of a page of documents; a search needs two of these cache lines.
    static constexpr size_t kAskedBytesMax = 512;

    static constexpr uint32_t kUneven = UINT32_MAX;

    // One block: cells[size], then the values, unless they are in the page: their bytes, or a
    // ValueBuffer pointer. If all values have the same length and the same distance and none is
    // shared ("even"), there are no cells.
    bool isEven() const { return valueBytes_ != kUneven; }
    uint32_t cellCount() const { return isEven() ? 0 : keys_.size(); }
    const Cell* cells() const { return reinterpret_cast<const Cell*>(block_.get()); }
    template <typename Visit>
    void forEachShared(const Visit& visit) const;
    /// Determines this from where the values lie in the page, or will lie in the block.
    void setEven(std::span<const ValueRef> values, bool inPage);

    KeyArray keys_;
    block::PageBuffer page_;
    std::unique_ptr<char[]> block_;
    const char* values_ = nullptr;
    uint32_t valueBytes_ = kUneven;
    uint32_t stride_ = 0;  // of even values: the distance from one to the next
    size_t blockBytes_ = 0;
    size_t sharedBytes_ = 0;
    size_t pageBytes_ = 0;
    bool hasLargeValues_ = false;
};

}  // namespace freshet::engine
