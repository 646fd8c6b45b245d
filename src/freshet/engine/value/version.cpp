// SPDX-License-Identifier: Apache-2.0
#include "freshet/engine/value/version.h"

#include "freshet/base/assert.h"
#include "freshet/engine/memory/memory_count.h"
#include "freshet/engine/memory/object_memory.h"
#include "freshet/engine/value/freed_values.h"

#include <new>

namespace freshet::engine {

ValueBuffer* ValueBuffer::create(ByteView bytes, platform::Slabs* slabs) {
    if (bytes.size() < kLargeValueBytesMin) {
        slabs = nullptr;
    }
    const size_t room = sizeof(ValueBuffer) + bytes.size();
    void* memory = slabs != nullptr ? slabs->allocate(room) : ::operator new(room);
    auto* buffer = new (memory) ValueBuffer(bytes.size(), slabs);
    MemoryCount::add(sizeof(ValueBuffer) + bytes.size());
    bytes.copy(const_cast<char*>(buffer->data()), bytes.size());
    return buffer;
}

void ValueBuffer::drop() {
    // [value.drop] acq_rel: pairs with itself; the last holder sees all uses by the others.
    if (refs_.fetch_sub(1, sync::kAcqRel) == 1) {
        if (page_ != 0) {
            freed_->add(page_);
        }
        const size_t room = sizeof(ValueBuffer) + bytes_;
        platform::Slabs* const slabs = slabs_;
        MemoryCount::subtract(room);
        this->~ValueBuffer();
        if (slabs != nullptr) {
            slabs->release(this, room);
        } else {
            ::operator delete(this);
        }
    }
}

void ValueBuffer::setPage(uint64_t page, const block::PagePlace& place, FreedValues* freed) {
    dcheck(page_ == 0);
    page_ = page;
    place_ = place;
    freed_ = freed;
}

Version* Version::create(VersionOp op, const ValueRef& value, bool shared, uint64_t stamp) {
    shared = shared || value.shared != nullptr;
    const size_t valueBytes = value.bytes.size();
    const size_t bytes = objectBytes(shared, valueBytes);
    MemoryCount::add(bytes);
    void* memory = takeObjectMemory(bytes);
    auto* version = new (memory) Version(op, shared, static_cast<uint32_t>(valueBytes), stamp);
    if (value.shared != nullptr) {
        value.shared->hold();
        storeLe(version->tail(), value.shared);
    } else if (shared) {
        storeLe(version->tail(), ValueBuffer::create(value.bytes, nullptr));
    } else {
        value.bytes.copy(version->tail(), valueBytes);
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

}  // namespace freshet::engine
