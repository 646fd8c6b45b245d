// SPDX-License-Identifier: Apache-2.0
/// FairShares: how much each client has of a shared, bounded resource, and which item is evicted
/// when there is no more room. Items belong to a creator (a connection) of a holder (a user, or an
/// address). The holder with the largest share loses an item, and of its creators the one with the
/// largest share: a client that has no more than its fair share loses nothing to another client's
/// greed. Each call costs O(log n).
///
/// Guarded by its owner's mutex.
#pragma once

#include <cstdint>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>

namespace freshet::command {

template <typename Item>
class FairShares {
    struct Creator;

public:
    enum class By : uint8_t { kCount, kBytes };

    /// Where an item is stored; remove() takes it.
    struct Handle {
        Creator* creator = nullptr;  // null: not stored
        uint64_t turn = 0;
        uint64_t bytes = 0;
    };

    /// `bytes` 0: it is never evicted for its size.
    Handle add(const std::string& holder, uint64_t creatorId, uint64_t bytes, Item item) {
        const uint64_t turn = ++turns_;
        const auto [owner, isNewOwner] = holders_.try_emplace(holder);
        if (isNewOwner) {
            owner->second.key = &owner->first;
            owner->second.since = turn;
        }
        const auto [made, isNew] = owner->second.creators.all.try_emplace(creatorId);
        Creator& creator = made->second;
        if (isNew) {
            creator.holder = &owner->second;
            creator.id = creatorId;
            creator.since = turn;
        }
        const Handle handle{&creator, turn, bytes};
        creator.byAge.emplace(handle.turn, std::move(item));
        if (bytes != 0) {
            creator.bySize.emplace(sizeClass(bytes), handle.turn);
        }
        count(creator, 1, static_cast<int64_t>(bytes));
        return handle;
    }

    void remove(const Handle& handle) {
        Creator& creator = *handle.creator;
        Holder& holder = *creator.holder;
        creator.byAge.erase(handle.turn);
        if (handle.bytes != 0) {
            creator.bySize.erase({sizeClass(handle.bytes), handle.turn});
        }
        count(creator, -1, -static_cast<int64_t>(handle.bytes));
        if (creator.byAge.empty()) {
            holder.creators.all.erase(creator.id);
        }
        if (holder.creators.all.empty()) {
            holders_.erase(*holder.key);
        }
    }

    /// The item to evict in order to have fewer items or fewer bytes: of the creator with the
    /// largest share, the oldest item, or of its largest items the oldest. Never the one at `but`:
    /// if its creator has nothing else, another creator of the same holder that has at least half
    /// as much loses one. Null: none.
    const Item* next(By by, const Handle& but = {}) const {
        const Holder* holder = ranks_.most(by);
        if (holder == nullptr) {
            return nullptr;
        }
        const Creator* creator = holder->creators.most(by);
        const bool isAlone = creator == but.creator && creator->byAge.size() == 1;
        if (isAlone) {
            creator = holder->creators.second(by);
        }
        if (creator == nullptr ||
            (isAlone && 2 * creator->load.of(by) < but.creator->load.of(by))) {
            return nullptr;
        }
        if (by == By::kCount) {
            auto oldest = creator->byAge.begin();
            if (oldest->first == but.turn) {
                ++oldest;
            }
            return oldest == creator->byAge.end() ? nullptr : &oldest->second;
        }
        auto largest = creator->bySize.begin();
        if (largest != creator->bySize.end() && largest->second == but.turn) {
            ++largest;
        }
        return largest == creator->bySize.end() ? nullptr
                                                : &creator->byAge.find(largest->second)->second;
    }

    uint64_t bytes() const { return bytes_; }

private:
    struct Load {
        uint64_t count = 0;
        uint64_t bytes = 0;
        uint64_t of(By by) const { return by == By::kCount ? count : bytes; }
    };
    /// The owners of a kind, ordered by what they have; among equal ones the newest first.
    template <typename Owner>
    class Ranks {
    public:
        const Owner* most(By by) const {
            const Rank& rank = of(by);
            return rank.empty() ? nullptr : rank.rbegin()->second;
        }
        const Owner* second(By by) const {
            const Rank& rank = of(by);
            return rank.size() < 2 ? nullptr : std::next(rank.rbegin())->second;
        }
        void change(Owner& owner, int64_t count, int64_t bytes) {
            byCount_.erase({owner.load.count, ~owner.since});
            byBytes_.erase({owner.load.bytes, ~owner.since});
            owner.load.count += static_cast<uint64_t>(count);
            owner.load.bytes += static_cast<uint64_t>(bytes);
            if (owner.load.count != 0) {
                byCount_.emplace(std::pair(owner.load.count, ~owner.since), &owner);
                byBytes_.emplace(std::pair(owner.load.bytes, ~owner.since), &owner);
            }
        }

    private:
        using Rank = std::map<std::pair<uint64_t, uint64_t>, Owner*>;
        const Rank& of(By by) const { return by == By::kCount ? byCount_ : byBytes_; }

        Rank byCount_;
        Rank byBytes_;
    };
    struct Holder;
    struct Creator {
        Holder* holder = nullptr;
        uint64_t id = 0;
        uint64_t since = 0;  // when its first item was added
        Load load;
        std::map<uint64_t, Item> byAge;                  // by the time of adding
        std::set<std::pair<uint64_t, uint64_t>> bySize;  // size classes and times
    };
    struct Creators : Ranks<Creator> {
        std::unordered_map<uint64_t, Creator> all;
    };
    struct Holder {
        const std::string* key = nullptr;
        uint64_t since = 0;
        Load load;
        Creators creators;
    };

    /// Larger items have smaller numbers. Within a class, sizes differ by less than a factor of
    /// two.
    static uint64_t sizeClass(uint64_t bytes) {
        return static_cast<uint64_t>(__builtin_clzll(bytes));
    }

    void count(Creator& creator, int64_t items, int64_t bytes) {
        creator.holder->creators.change(creator, items, bytes);
        ranks_.change(*creator.holder, items, bytes);
        bytes_ += static_cast<uint64_t>(bytes);
    }

    std::unordered_map<std::string, Holder> holders_;
    Ranks<Holder> ranks_;
    uint64_t turns_ = 0;
    uint64_t bytes_ = 0;
};

}  // namespace freshet::command
