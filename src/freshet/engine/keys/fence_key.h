// SPDX-License-Identifier: Apache-2.0
/// FenceKey: one of a page's fences. Every page, in memory or not, has two, and most are short:
/// these are stored in the object itself, which is half the size of a std::string. Immutable.
#pragma once

#include "freshet/base/assert.h"
#include "freshet/base/bytes.h"

#include <compare>
#include <cstdint>
#include <cstring>
#include <string>

namespace freshet::engine {

class FenceKey {
public:
    FenceKey(ByteView key)  // NOLINT(google-explicit-constructor): it is the same key
        : short_{},
          shortBytes_(key.size() <= kShortMax ? static_cast<uint8_t>(key.size()) : kLong) {
        char* bytes = short_;
        if (shortBytes_ == kLong) {
            dcheck(key.size() <= UINT32_MAX);
            const Long stored{new char[key.size()], static_cast<uint32_t>(key.size())};
            storeLong(stored);
            bytes = stored.bytes;
        }
        key.copy(bytes, key.size());
    }
    ~FenceKey() {
        if (shortBytes_ == kLong) {
            delete[] asLong().bytes;
        }
    }
    FenceKey(const FenceKey&) = delete;
    FenceKey& operator=(const FenceKey&) = delete;

    operator ByteView() const {  // NOLINT(google-explicit-constructor)
        if (shortBytes_ != kLong) {
            return {short_, shortBytes_};
        }
        const Long stored = asLong();
        return {stored.bytes, stored.size};
    }
    ByteView view() const { return *this; }
    std::string string() const { return std::string(view()); }
    bool empty() const { return shortBytes_ == 0; }
    /// Memory outside the object.
    size_t memoryBytes() const { return shortBytes_ == kLong ? asLong().size : 0; }

    friend bool operator==(const FenceKey& a, ByteView b) { return a.view() == b; }
    friend auto operator<=>(const FenceKey& a, ByteView b) { return a.view() <=> b; }
    friend bool operator==(const FenceKey& a, const FenceKey& b) { return a.view() == b.view(); }
    friend auto operator<=>(const FenceKey& a, const FenceKey& b) { return a.view() <=> b.view(); }

private:
    static constexpr size_t kShortMax = 15;
    static constexpr uint8_t kLong = UINT8_MAX;
    struct Long {
        char* bytes;
        uint32_t size;
    };
    static_assert(sizeof(char*) + sizeof(uint32_t) <= kShortMax);

    void storeLong(const Long& stored) {
        std::memcpy(short_, &stored.bytes, sizeof(stored.bytes));
        std::memcpy(short_ + sizeof(stored.bytes), &stored.size, sizeof(stored.size));
    }
    Long asLong() const {
        Long stored;
        std::memcpy(&stored.bytes, short_, sizeof(stored.bytes));
        std::memcpy(&stored.size, short_ + sizeof(stored.bytes), sizeof(stored.size));
        return stored;
    }

    alignas(8) char short_[kShortMax];  // the key, or a Long
    uint8_t shortBytes_;                // kLong: a Long
};
static_assert(sizeof(FenceKey) == 16);

}  // namespace freshet::engine
