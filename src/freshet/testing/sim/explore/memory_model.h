// SPDX-License-Identifier: Apache-2.0
/// What each thread knows: happens-before by vector clocks, and which stores a load may still
/// return, by views (the operational form of C++ acquire/release: J. Kang et al., "A promising
/// semantics for relaxed-memory concurrency", 2017, without promises). Modification order is
/// execution order.
#pragma once

#include "freshet/testing/sim/explore/shared_words.h"

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace freshet::testing {

/// Virtual threads; 0 is setup and finally().
inline constexpr unsigned kVirtualThreads = 8;

/// What a thread knows, or what a store passes on.
struct Knowledge {
    std::array<uint32_t, kVirtualThreads> clock{};  // by thread: its steps that happened before
    std::vector<uint32_t> view;                     // by place: the oldest store still readable

    void join(const Knowledge& other);
    void joinView(const std::vector<uint32_t>& other);
    uint32_t viewOf(uint32_t place) const { return place < view.size() ? view[place] : 0; }
    void raiseView(uint32_t place, uint32_t index);
};

/// Accesses that must be ordered: construction, plain bytes.
class AccessHistory {
public:
    /// Each returns false when an earlier access is not ordered before this one; `with` is its
    /// thread.
    bool read(unsigned thread, const Knowledge& knowledge, unsigned* with);
    bool write(unsigned thread, const Knowledge& knowledge, unsigned* with);

private:
    unsigned writer_ = 0;
    uint32_t writtenAt_ = 0;
    std::array<uint32_t, kVirtualThreads> readAt_{};
};

/// One atomic word (or mutex) in one execution.
struct WordHistory {
    struct Store {
        uint64_t value;
        Knowledge released;  // what an acquire load of it learns
    };
    uint64_t* newest = nullptr;
    WordKey key = kGlobalWord;
    bool needsPoint = false;   // SharedWords::has(key)
    uint32_t usedBy = 0;       // virtual threads except 0, as bits
    bool written = false;      // by one of them
    Store last{0, {}};         // the newest store
    std::vector<Store> older;  // the others, oldest first; none when loads are never stale
    uint32_t firstIndex = 0;   // index of older[0], or else of `last`, in modification order
    AccessHistory life;        // birth is a write, every operation a read, death a write
    bool dead = false;
    unsigned lockedBy = 0;  // mutexes: holder + 1

    uint32_t newestIndex() const { return firstIndex + static_cast<uint32_t>(older.size()); }
    const Store& at(uint32_t index) const {
        return index == newestIndex() ? last : older[index - firstIndex];
    }
};

/// The threads' knowledge and the effect of each kind of operation on it.
class MemoryModel {
public:
    /// Resets everything. `keepOld`: loads may be stale.
    void reset(bool keepOld);

    uint32_t addWord(uint64_t* newest, WordKey key, bool needsPoint);
    WordHistory& word(uint32_t place) { return words_[place]; }
    AccessHistory& plain(const void* address) { return plain_[address]; }
    const Knowledge& of(unsigned thread) const { return threads_[thread].now; }

    /// One more step of the thread; called before each operation.
    void tick(unsigned thread) { ++threads_[thread].now.clock[thread]; }
    /// The lowest store index that a load by the thread may return.
    uint32_t oldestReadable(unsigned thread, uint32_t place, std::memory_order order) const;
    void load(unsigned thread, uint32_t place, uint32_t index, std::memory_order order);
    /// `isModify`: the store is the write half of a read-modify-write.
    void store(
        unsigned thread, uint32_t place, uint64_t value, std::memory_order order, bool isModify);
    void fence(unsigned thread);
    /// `later` knows all that `earlier` knows.
    void orderAfter(unsigned later, unsigned earlier) {
        threads_[later].now.join(threads_[earlier].now);
    }

private:
    struct ThreadState {
        Knowledge now;
        Knowledge pending;  // learned by relaxed loads: known after the next fence
        Knowledge fenced;   // known at the last fence: passed on by relaxed stores
    };
    bool keepOld_ = false;
    std::array<ThreadState, kVirtualThreads> threads_;
    std::vector<uint32_t> seqCst_;  // view shared by seq_cst fences and operations
    std::vector<WordHistory> words_;
    std::unordered_map<const void*, AccessHistory> plain_;
};

}  // namespace freshet::testing
