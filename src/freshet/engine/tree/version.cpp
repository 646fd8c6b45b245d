// SPDX-License-Identifier: Apache-2.0
#include "freshet/engine/tree/version.h"

#include "freshet/base/assert.h"
#include "freshet/engine/tree/freed_values.h"
#include "freshet/engine/tree/object_memory.h"
#include "freshet/engine/txn/memory_count.h"

#include <new>

namespace freshet::engine {

ValueBuffer* ValueBuffer::create(ByteView bytes) {
    void* memory = ::operator new(sizeof(ValueBuffer) + bytes.size());
    auto* buffer = new (memory) ValueBuffer(bytes.size());
    MemoryCount::add(sizeof(ValueBuffer) + bytes.size());
    bytes.copy(const_cast<char*>(buffer->data()), bytes.size());
    return buffer;
}

void ValueBuffer::hold() {
    // [value.hold] relaxed: made from a live reference, so the count cannot reach zero here.
    refs_.fetch_add(1, sync::kRelaxed);
}

void ValueBuffer::drop() {
    // [value.drop] acq_rel: pairs with itself; the last one sees all uses through the others.
    if (refs_.fetch_sub(1, sync::kAcqRel) == 1) {
        if (page_ != 0) {
            freed_->add(page_);
        }
        MemoryCount::subtract(sizeof(ValueBuffer) + bytes_);
        this->~ValueBuffer();
        ::operator delete(this);
    }
}

void ValueBuffer::setPage(uint64_t page, const block::PagePlace& place, FreedValues* freed) {
    dcheck(page_ == 0);
    page_ = page;
    place_ = place;
    freed_ = freed;
}

Version* Version::create(VersionOp op, ByteView value, bool shared, uint64_t stamp) {
    const size_t bytes = objectBytes(shared, value.size());
    MemoryCount::add(bytes);
    void* memory = takeObjectMemory(bytes);
    auto* version = new (memory) Version(op, shared, static_cast<uint32_t>(value.size()), stamp);
    if (shared) {
        storeLe(version->tail(), ValueBuffer::create(value));
    } else {
        value.copy(version->tail(), value.size());
    }
    sync::notePlainWrite(version->tail());
    return version;
}

void Version::destroy(Version* version) {
    sync::notePlainWrite(version->tail());
    if (version->shared_) {
        version->value().shared->drop();
    }
    const size_t bytes = objectBytes(version->shared_, version->bytes_);
    MemoryCount::subtract(bytes);
    version->~Version();
    giveObjectMemory(version, bytes);
}

ValueRef Version::value() const {
    sync::notePlainRead(tail());
    if (shared_) {
        auto* buffer = loadLe<ValueBuffer*>(tail());
        return {buffer->bytes(bytes_), buffer};
    }
    return {{tail(), bytes_}, nullptr};
}

size_t Version::weight() const {
    return sizeof(Version) + bytes_;
}

size_t Version::pageBytes() const {
    return sizeof(Version) + ValueBuffer::pageBytesOf(bytes_);
}

}  // namespace freshet::engine
