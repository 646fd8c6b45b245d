// SPDX-License-Identifier: Apache-2.0
/// For model checks of page trees: an environment whose reclaimer is plain bookkeeping, and
/// functions that run a model and check the outcome.
#pragma once

#include "freshet/engine/tree/page_tree.h"
#include "freshet/engine/tree/tree_env.h"
#include "freshet/testing/sim/explorer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <iostream>
#include <set>
#include <string>
#include <vector>

namespace freshet::engine {

inline constexpr TxnLimits kTinyTable{
    .ringCells = 2, .entriesMax = 6, .entriesPerChunk = 8, .freeLists = 1};

/// Stands in for the epochs, whose own promises are checked in sync: what is retired is freed as
/// soon as every slice that was open then has been left. Plain bookkeeping, since one model step
/// never interrupts it; the atomic word makes the happens-before edges that entering and leaving a
/// slice make in the real epochs.
class ModelEnv : public TreeEnv {
public:
    ModelEnv(TxnTable* table, const TreeLimits& limits) : TreeEnv(table, inFewBuckets(limits)) {}
    ~ModelEnv() override {
        for (const Retired& object : retired_) {
            object.free(object.object);
        }
    }

    class Slice {
    public:
        /// `pinned`: a snapshot taken earlier; else one is taken now.
        explicit Slice(ModelEnv* env, uint64_t pinned = 0) : env_(env), id_(++env->lastId_) {
            testing::Uninterrupted whole;
            env_->edges_.fetch_add(1, sync::kAcqRel);
            snapshot = pinned != 0 ? pinned : env_->txns.snapshot();
            env_->open_.insert(id_);
            // A stale load may still lead this slice to what was retired in a slice that is open.
            for (Retired& object : env_->retired_) {
                object.seenBy.insert(id_);
            }
            env_->snapshots_.insert(snapshot);
        }
        ~Slice() {
            testing::Uninterrupted whole;
            env_->snapshots_.erase(env_->snapshots_.find(snapshot));
            env_->edges_.fetch_add(1, sync::kAcqRel);
            env_->open_.erase(id_);
            env_->freeUnreachable();
        }
        Slice(const Slice&) = delete;
        Slice& operator=(const Slice&) = delete;
        uint64_t snapshot = 0;

    private:
        ModelEnv* const env_;
        const uint64_t id_;
    };

    /// A snapshot that outlives slices.
    void pin(uint64_t ts) { snapshots_.insert(ts); }
    void unpin(uint64_t ts) { snapshots_.erase(snapshots_.find(ts)); }

    uint64_t minReadTs() override {
        const uint64_t clock = txns.snapshot();
        return snapshots_.empty() ? clock : std::min(clock, *snapshots_.begin());
    }
    uint64_t commitLow() override { return 1; }
    void retire(void* object, void (*free)(void*), size_t) override {
        for (const Retired& other : retired_) {
            testing::check(other.object != object, "nothing is retired twice");
        }
        retired_.push_back({object, free, open_});
    }

private:
    /// With few buckets the few keys of a model share lists of changes.
    static TreeLimits inFewBuckets(TreeLimits limits) {
        limits.bucketsMax = std::min(limits.bucketsMax, 2u);
        return limits;
    }
    struct Retired {
        void* object;
        void (*free)(void*);
        std::set<uint64_t> seenBy;
    };
    void freeUnreachable() {
        std::vector<Retired> kept;
        std::vector<Retired> gone;
        for (Retired& object : retired_) {
            const bool seen = std::any_of(object.seenBy.begin(), object.seenBy.end(), [&](auto id) {
                return open_.count(id) != 0;
            });
            (seen ? kept : gone).push_back(std::move(object));
        }
        retired_ = std::move(kept);
        for (const Retired& object : gone) {
            object.free(object.object);
        }
    }

    uint64_t lastId_ = 0;
    std::set<uint64_t> open_;
    std::multiset<uint64_t> snapshots_;
    std::vector<Retired> retired_;
    sync::Atomic<uint64_t> edges_{0};
};

/// The keys in the order in which a walk through leaves in memory visits them.
inline std::string keysIn(PageTree& tree, ModelEnv* env, Direction direction) {
    ModelEnv::Slice slice(env);
    std::string keys;
    const WalkFrom from{direction == Direction::kForward ? Edge::kFirst : Edge::kLast, "", true};
    tree.walk(
        direction, from, {.entries = 100}, {slice.snapshot, 0}, [&](ByteView key, const ValueRef&) {
            keys += key;
        });
    return keys;
}

#ifdef FRESHET_EXPLORE  // no other variant has planted mistakes

using Setup = std::function<void(testing::Model&)>;

/// `AMutant`: the Mutant of this room or of `sync`.
template <typename AMutant>
testing::ExploreResult run(AMutant mutant,
                           const Setup& setup,
                           const testing::ExploreOptions& options) {
    activeMutant<AMutant> = mutant;
    testing::ExploreResult result = testing::explore(options, setup);
    activeMutant<AMutant> = AMutant::kNone;
    return result;
}

inline void expectHolds(const Setup& setup, testing::ExploreOptions options = {.preemptions = 2}) {
    const testing::ExploreResult result = run(Mutant::kNone, setup, options);
    EXPECT_TRUE(result.passed()) << result.report;
    EXPECT_TRUE(result.complete) << result.executions;
    options.mode = testing::ExploreOptions::Mode::kRandom;
    options.executionsMax = 2000;
    const testing::ExploreResult random = run(Mutant::kNone, setup, options);
    EXPECT_TRUE(random.passed()) << random.report << " seed " << random.seed;
    std::cout << result.executions << " executions, the longest " << result.stepsLongest
              << " steps\n";
}

template <typename AMutant>
void expectFound(AMutant mutant,
                 const Setup& setup,
                 testing::ExploreOptions options = {.preemptions = 2}) {
    const testing::ExploreResult result = run(mutant, setup, options);
    EXPECT_FALSE(result.passed()) << "survived " << result.executions << " executions";
    std::cout << result.failure << " after " << result.executions << " executions\n";
}

#endif

}  // namespace freshet::engine
