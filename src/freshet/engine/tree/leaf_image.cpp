// SPDX-License-Identifier: Apache-2.0
#include "freshet/engine/tree/leaf_image.h"

namespace freshet::engine {
namespace {

size_t storedBytes(const ValueRef& value) {
    return value.shared != nullptr ? sizeof(ValueBuffer*) : value.bytes.size();
}

}  // namespace

size_t LeafImage::entryBytes(size_t keyBytes, const ValueRef& value) {
    return keyBytes + sizeof(uint64_t) + sizeof(uint32_t) + sizeof(Cell) +
           ValueBuffer::pageBytesOf(value.bytes.size());
}

LeafImage::LeafImage(std::span<const ByteView> tails, std::span<const ValueRef> values)
    : keys_(tails) {
    bool isEven = true;
    for (const ByteView tail : tails) {
        pageBytes_ += tail.size();
    }
    for (const ValueRef& value : values) {
        pageBytes_ += entryBytes(0, value);
        memoryBytes_ += storedBytes(value);
        sharedBytes_ += value.shared != nullptr ? value.bytes.size() : 0;
        hasLargeValues_ |= value.bytes.size() >= kLargeValueBytesMin;
        isEven &= value.shared == nullptr && value.bytes.size() == values[0].bytes.size();
    }
    if (isEven && !values.empty()) {
        valueBytes_ = static_cast<uint32_t>(values[0].bytes.size());
    }
    memoryBytes_ += cellCount() * sizeof(Cell);
    block_.reset(new char[memoryBytes_]);
    char* cell = block_.get();
    char* bytes = cell + cellCount() * sizeof(Cell);
    uint32_t at = 0;
    for (const ValueRef& value : values) {
        const bool shared = value.shared != nullptr;
        if (!this->isEven()) {
            storeLe(cell, Cell{at, static_cast<uint32_t>(value.bytes.size()), shared ? 1u : 0u});
            cell += sizeof(Cell);
        }
        if (shared) {
            value.shared->hold();
            storeLe(bytes + at, value.shared);
        } else {
            value.bytes.copy(bytes + at, value.bytes.size());
        }
        at += static_cast<uint32_t>(storedBytes(value));
    }
    sync::notePlainWrite(block_.get());
}

LeafImage::~LeafImage() {
    for (uint32_t i = 0; i < cellCount(); ++i) {
        if (ValueRef value = this->value(i); value.shared != nullptr) {
            value.shared->drop();
        }
    }
}

ValueRef LeafImage::value(uint32_t i) const {
    sync::notePlainRead(block_.get());
    if (isEven()) {
        return {{values() + size_t{i} * valueBytes_, valueBytes_}, nullptr};
    }
    const Cell cell = cells()[i];
    const char* stored = values() + cell.offset;
    if (cell.shared != 0) {
        auto* buffer = loadLe<ValueBuffer*>(stored);
        return {buffer->bytes(cell.bytes), buffer};
    }
    return {{stored, cell.bytes}, nullptr};
}

}  // namespace freshet::engine
