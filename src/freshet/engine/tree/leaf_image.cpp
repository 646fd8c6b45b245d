// SPDX-License-Identifier: Apache-2.0
#include "freshet/engine/tree/leaf_image.h"

namespace freshet::engine {
namespace {

size_t storedBytes(const ValueRef& value) {
    return value.shared != nullptr ? sizeof(ValueBuffer*) : value.bytes.size();
}

}  // namespace

size_t LeafImage::entryBytes(size_t keyBytes, const ValueRef& value) {
    // Shared values below that size are stored in the page's image on disk, if not here.
    const size_t valueBytes =
        value.bytes.size() >= kLargeValueBytesMin ? sizeof(ValueBuffer*) : value.bytes.size();
    return keyBytes + sizeof(uint64_t) + sizeof(uint32_t) + sizeof(Cell) + valueBytes;
}

LeafImage::LeafImage(std::span<const ByteView> tails, std::span<const ValueRef> values)
    : keys_(tails) {
    memoryBytes_ = values.size() * sizeof(Cell);
    for (const ValueRef& value : values) {
        memoryBytes_ += storedBytes(value);
    }
    block_.reset(new char[memoryBytes_]);
    char* cell = block_.get();
    char* bytes = cell + values.size() * sizeof(Cell);
    uint32_t at = 0;
    for (const ValueRef& value : values) {
        const bool shared = value.shared != nullptr;
        storeLe(cell, Cell{at, static_cast<uint32_t>(value.bytes.size()), shared ? 1u : 0u});
        if (shared) {
            value.shared->hold();
            storeLe(bytes + at, value.shared);
        } else {
            value.bytes.copy(bytes + at, value.bytes.size());
        }
        cell += sizeof(Cell);
        at += static_cast<uint32_t>(storedBytes(value));
    }
    sync::notePlainWrite(block_.get());
}

LeafImage::~LeafImage() {
    for (uint32_t i = 0; i < keys_.size(); ++i) {
        if (ValueRef value = this->value(i); value.shared != nullptr) {
            value.shared->drop();
        }
    }
}

ValueRef LeafImage::value(uint32_t i) const {
    sync::notePlainRead(block_.get());
    const Cell cell = cells()[i];
    const char* stored = values() + cell.offset;
    if (cell.shared != 0) {
        auto* buffer = loadLe<ValueBuffer*>(stored);
        return {buffer->bytes(), buffer};
    }
    return {{stored, cell.bytes}, nullptr};
}

}  // namespace freshet::engine
