// SPDX-License-Identifier: Apache-2.0
/// The base of a leaf: sorted keys with the value that every snapshot in use may see. Immutable;
/// owned by its node. Small values are copied into it, large ones shared.
#pragma once

#include "freshet/engine/tree/key_array.h"
#include "freshet/engine/tree/version.h"

#include <memory>
#include <span>

namespace freshet::engine {

class LeafImage {
public:
    LeafImage() = default;
    /// `values[i]` belongs to `tails[i]`; the image takes references to the shared ones.
    LeafImage(std::span<const ByteView> tails, std::span<const ValueRef> values);
    ~LeafImage();
    LeafImage(const LeafImage&) = delete;
    LeafImage& operator=(const LeafImage&) = delete;

    const KeyArray& keys() const { return keys_; }
    ValueRef value(uint32_t i) const;
    size_t memoryBytes() const { return keys_.memoryBytes() + memoryBytes_; }

    /// What an entry counts for in a page's size: large values stay outside.
    static size_t entryBytes(size_t keyBytes, const ValueRef& value);

private:
    struct Cell {
        uint32_t offset;
        uint32_t bytes : 31;
        uint32_t shared : 1;
    };
    // One block: cells[size], then the values: their bytes, or a ValueBuffer pointer.
    const Cell* cells() const { return reinterpret_cast<const Cell*>(block_.get()); }
    const char* values() const { return block_.get() + keys_.size() * sizeof(Cell); }

    KeyArray keys_;
    std::unique_ptr<char[]> block_;
    size_t memoryBytes_ = 0;
};

}  // namespace freshet::engine
