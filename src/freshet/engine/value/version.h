// SPDX-License-Identifier: Apache-2.0
/// Versions: one value of one key by one writer, in a chain from the newest to the oldest. Large
/// values are in counted buffers, which versions and page images share, so that a rebuild never
/// copies them.
#pragma once

#include "freshet/base/bytes.h"
#include "freshet/block/block_file.h"
#include "freshet/platform/slabs.h"
#include "freshet/sync/atomic.h"

#include <cstddef>
#include <cstdint>

namespace freshet::engine {

class FreedValues;

/// Values of this size and more have a page of their own on disk.
inline constexpr size_t kLargeValueBytesMin = 16 * 1024;

/// An immutable value with a reference count. Freed with the last reference.
class ValueBuffer {
public:
    /// The caller owns one reference. Large values are allocated in `slabs`, which outlive them;
    /// null: with the general allocator, like all others.
    static ValueBuffer* create(ByteView bytes, platform::Slabs* slabs);
    void hold() {
        // [value.hold] relaxed: made from a live reference, so the count cannot reach zero here.
        refs_.fetch_add(1, sync::kRelaxed);
    }
    void drop();
    /// Prefetches what hold() and drop() change. To be called for many buffers first, so that the
    /// misses overlap, as they do not in those two.
    void prefetch() const { __builtin_prefetch(&refs_, 1); }
    ByteView bytes() const { return {data(), bytes_}; }
    /// The same without reading the buffer's own count of them. REQUIRES: `known` is that count.
    ByteView bytes(size_t known) const { return {data(), known}; }

    /// What a value counts for in a leaf's size. Large ones are in no image, but are read and
    /// evicted with their leaf. So a leaf has a MB or two of them, or one that is larger.
    static constexpr size_t pageBytesOf(size_t bytes) {
        constexpr size_t kLargeShare = 32;
        return bytes >= kLargeValueBytesMin ? bytes / kLargeShare : bytes;
    }

    /// Its page on disk; 0: none. For the checkpoint's thread, which also evicts, and while leaves
    /// are loaded.
    uint64_t page() const { return page_; }
    /// REQUIRES: page() != 0.
    const block::PagePlace& place() const { return place_; }
    /// REQUIRES: a reference, and page() == 0. When the buffer is freed the page is added to
    /// `freed`, which outlives the buffer.
    void setPage(uint64_t page, const block::PagePlace& place, FreedValues* freed);
    /// The page has been moved there. REQUIRES: a reference, and page() != 0.
    void setPlace(const block::PagePlace& place) { place_ = place; }
    /// The page stays when the buffer is freed: its leaf is on disk now. REQUIRES: a reference.
    void leavePage() { page_ = 0; }

private:
    ValueBuffer(size_t bytes, platform::Slabs* slabs) : bytes_(bytes), slabs_(slabs) {}
    const char* data() const { return reinterpret_cast<const char*>(this + 1); }

    /// How many versions, images, cursors and shares refer to the buffer.
    sync::Atomic<uint32_t> refs_{1};
    const size_t bytes_;
    platform::Slabs* const slabs_;  // where it is allocated; null: with the general allocator
    // Plain: set by one thread, which holds a reference; read by that thread, and after the last
    // drop.
    uint64_t page_ = 0;
    block::PagePlace place_;
    FreedValues* freed_ = nullptr;
};

/// A value as it is stored somewhere: its bytes and, when they are shared, their buffer.
struct ValueRef {
    ByteView bytes;
    ValueBuffer* shared = nullptr;
};

enum class VersionOp : uint8_t { kPut, kDelete };

/// REQUIRES of all readers: inside a slice. RECLAIM: through epochs, by the thread that unlinks it
/// (INV-engine-4).
class Version {
public:
    /// A value that has a buffer stays in it, and the version takes a reference of its own. One
    /// that has none gets a copy: in a new buffer when `shared`, else within the version.
    static Version* create(VersionOp op, const ValueRef& value, bool shared, uint64_t stamp);
    static void destroy(Version* version);
    /// For Participant::retire.
    static void destroyErased(void* version) { destroy(static_cast<Version*>(version)); }

    ValueRef value() const {
        sync::notePlainRead(tail());
        if (shared_) {
            auto* buffer = loadLe<ValueBuffer*>(tail());
            return {buffer->bytes(bytes_), buffer};
        }
        return {{tail(), bytes_}, nullptr};
    }
    bool isDelete() const { return op_ == VersionOp::kDelete; }
    /// The memory that is freed with the version.
    size_t weight() const { return sizeof(Version) + bytes_; }
    /// What it counts for in a page's size.
    size_t pageBytes() const { return sizeof(Version) + ValueBuffer::pageBytesOf(bytes_); }

    /// The transaction that wrote it, or when it was committed (commits/stamp.h). Written by: the
    /// owner, once, when its outcome is decided [stamp.final]. Read by: all, through
    /// TxnTable::resolve.
    sync::Atomic<uint64_t> stamp;
    /// The next older one. Written by: the owner before publication; then only exchanged with null
    /// by trim() and by the thread that has installed a fold, each link once [older.take].
    sync::Atomic<Version*> older{nullptr};
    /// About how many versions are below; a hint for trimming, set before publication.
    uint32_t depth = 0;

private:
    Version(VersionOp op, bool shared, uint32_t bytes, uint64_t stampWord)
        : stamp(stampWord), bytes_(bytes), op_(op), shared_(shared) {}
    static size_t objectBytes(bool shared, size_t valueBytes) {
        return sizeof(Version) + (shared ? sizeof(ValueBuffer*) : valueBytes);
    }
    char* tail() { return reinterpret_cast<char*>(this + 1); }
    const char* tail() const { return reinterpret_cast<const char*>(this + 1); }

    const uint32_t bytes_;
    const VersionOp op_;
    const bool shared_;
};

}  // namespace freshet::engine
