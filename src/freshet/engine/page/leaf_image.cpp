// SPDX-License-Identifier: Apache-2.0
#include "freshet/engine/page/leaf_image.h"

#include <utility>

namespace freshet::engine {
namespace {

size_t storedBytes(const ValueRef& value) {
    return value.shared != nullptr ? sizeof(ValueBuffer*) : value.bytes.size();
}

/// The value's bytes, or a reference to them.
void store(const ValueRef& value, char* bytes) {
    if (value.shared != nullptr) {
        value.shared->hold();
        storeLe(bytes, value.shared);
    } else {
        value.bytes.copy(bytes, value.bytes.size());
    }
}

}  // namespace

size_t LeafImage::entryBytes(size_t keyBytes, const ValueRef& value) {
    return keyBytes + sizeof(uint64_t) + sizeof(uint32_t) + sizeof(Cell) +
           ValueBuffer::pageBytesOf(value.bytes.size());
}

LeafImage::LeafImage(std::span<const ByteView> tails,
                     std::span<const ValueRef> values,
                     block::PageBuffer page)
    : keys_(tails), page_(std::move(page)) {
    for (const ByteView tail : tails) {
        pageBytes_ += tail.size();
    }
    size_t allBytes = 0;
    for (const ValueRef& value : values) {
        pageBytes_ += entryBytes(0, value);
        allBytes += storedBytes(value);
        if (value.shared != nullptr) {
            value.shared->prefetch();
            sharedBytes_ += value.bytes.size();
        }
        hasLargeValues_ |= value.bytes.size() >= kLargeValueBytesMin;
    }
    const bool inPage = page_.room() != 0 && !values.empty();
    setEven(values, inPage);
    const size_t cellBytes = cellCount() * sizeof(Cell);
    blockBytes_ = cellBytes + (inPage ? 0 : allBytes);
    if (blockBytes_ != 0) {
        block_.reset(new char[blockBytes_]);
    }
    char* cell = block_.get();
    char* bytes = block_.get() + cellBytes;
    values_ = inPage ? values[0].bytes.data() : bytes;
    for (const ValueRef& value : values) {
        if (!isEven()) {
            const char* stored = inPage ? value.bytes.data() : bytes;
            storeLe(cell,
                    Cell{static_cast<uint32_t>(stored - values_),
                         static_cast<uint32_t>(value.bytes.size()),
                         value.shared != nullptr ? 1u : 0u});
            cell += sizeof(Cell);
        }
        if (!inPage) {
            store(value, bytes);
            bytes += storedBytes(value);
        }
    }
    sync::notePlainWrite(this);
}

void LeafImage::setEven(std::span<const ValueRef> values, bool inPage) {
    if (values.empty()) {
        return;
    }
    const size_t bytes = values[0].bytes.size();
    const bool several = inPage && values.size() > 1;
    const ptrdiff_t stride =
        several ? values[1].bytes.data() - values[0].bytes.data() : static_cast<ptrdiff_t>(bytes);
    for (size_t i = 0; i < values.size(); ++i) {
        if (values[i].shared != nullptr || values[i].bytes.size() != bytes ||
            (inPage && values[i].bytes.data() !=
                           values[0].bytes.data() + static_cast<ptrdiff_t>(i) * stride)) {
            return;
        }
    }
    valueBytes_ = static_cast<uint32_t>(bytes);
    stride_ = static_cast<uint32_t>(stride);
}

LeafImage::~LeafImage() {
    if (sharedBytes_ == 0) {
        return;  // none is shared: a shared value is never empty
    }
    forEachShared([](ValueBuffer* buffer) { buffer->prefetch(); });
    forEachShared([](ValueBuffer* buffer) { buffer->drop(); });
}

template <typename Visit>
void LeafImage::forEachShared(const Visit& visit) const {
    for (uint32_t i = 0; i < cellCount(); ++i) {
        if (const ValueRef value = this->value(i); value.shared != nullptr) {
            visit(value.shared);
        }
    }
}

ValueRef LeafImage::value(uint32_t i) const {
    sync::notePlainRead(this);
    if (isEven()) {
        return {{values_ + size_t{i} * stride_, valueBytes_}, nullptr};
    }
    const Cell cell = cells()[i];
    const char* stored = values_ + cell.offset;
    if (cell.shared != 0) {
        auto* buffer = loadLe<ValueBuffer*>(stored);
        return {buffer->bytes(cell.bytes), buffer};
    }
    return {{stored, cell.bytes}, nullptr};
}

}  // namespace freshet::engine
