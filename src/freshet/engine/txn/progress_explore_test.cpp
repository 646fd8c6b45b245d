// SPDX-License-Identifier: Apache-2.0
/// No thread waits for another on the page path. One thread is stopped for good before each of its
/// atomic operations in turn, in the middle of reading, writing, rebuilding, splitting, committing,
/// scanning pages for a checkpoint, folding and reclaiming; the others must go on with all of
/// these. Real threads; the `explore` variant's hook in sync::Atomic stops the one.
///
/// No wait is allowed here. By design a stopped thread does hold up: memory that is retired
/// meanwhile (the thread is in a slice); writers of keys that it has written and not committed
/// (they get kBusy and give up); threads that join or leave while it takes over the memory of ended
/// ones (EpochDomain's mutex, which the page path only tries to lock); and, outside of the page
/// path, a checkpoint, and a journal whose slots are all full.
#include "freshet/engine/checkpoint/tree_writer.h"
#include "freshet/engine/commits/commit_steps.h"
#include "freshet/engine/read_ahead.h"
#include "freshet/engine/tree/tree_check.h"
#include "freshet/engine/txn/progress_labels_test_support.h"
#include "freshet/engine/txn/progress_test_support.h"
#include "freshet/engine/txn/store_core.h"
#include "freshet/engine/txn/write_set.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace freshet::engine {
namespace {

constexpr TreeLimits kTinyPages{.deltaKeysMax = 6,
                                .deltaBytesMax = 2000,
                                .leafBytesMax = 600,
                                .innerBytesMax = 200,
                                .bucketsMax = 4,
                                .sharedValueBytesMin = 100,
                                .trimDepthMin = 2};
constexpr uint64_t kNoJournalLsn = 1;
constexpr int kOthers = 2;
constexpr int kKeysInUse = 24;  // of each thread; the threads' keys alternate

/// There is no journal, and a sink takes the place of the disk: only the tree and the transaction
/// table are left.
class World : CheckpointSink {
public:
    World() {
        // In a thread that ends: this variant has room for four at a time.
        platform::Thread filler("filler", [this] {
            for (int i = 0; i < kKeysInUse; ++i) {
                for (int thread = 0; thread <= kOthers; ++thread) {
                    EXPECT_TRUE(put({keyOf(thread, i)}, "first"));
                }
            }
        });
    }

    static std::string keyOf(int thread, int number) {
        char text[16];
        std::snprintf(text, sizeof(text), "%04d-%d", number, thread);
        return text;
    }

    /// A whole transaction; an empty value erases. False: another transaction's write was in the
    /// way.
    bool put(const std::vector<std::string>& keys, const std::string& value, bool commit = true) {
        sync::Slice slice(core_->epochs);
        const uint64_t stamp = *core_->table.open();
        const View view{core_->table.snapshot(), stamp};
        std::vector<Version*> versions;
        bool ok = commit;
        for (const std::string& key : keys) {
            const VersionOp op = value.empty() ? VersionOp::kDelete : VersionOp::kPut;
            const WriteResult result =
                pages().write({WriteKind::kPut, op, key, value, stamp, view});
            if (result.kind == WriteResult::Kind::kBusy) {
                // Like a single-document operation, but without the wait.
                const sync::WaitToken token = core_->table.endOf(result.other);
            }
            if (result.kind != WriteResult::Kind::kDone) {
                ok = false;
                break;
            }
            versions.push_back(result.version);
        }
        uint64_t final = kStampAborted;
        if (ok) {
            CommitSteps steps(
                core_->table, core_->floors, core_->times, slice.participant().index());
            steps.begin(stamp, kNoJournalLsn);
            final = steps.complete(stamp, 0);
        } else {
            core_->table.setAborted(stamp);
        }
        settle(core_->table, stamp, versions, final);
        return ok;
    }
    /// Writes, suspends the write set, resumes it once, suspends it, and has it ended as if memory
    /// were short.
    void suspendAndEnd(const std::string& key) {
        sync::Slice slice(core_->epochs);
        TxnTable& table = core_->table;
        const uint64_t stamp = *table.open();
        const WriteResult result = pages().write(
            {WriteKind::kPut, VersionOp::kPut, key, "suspended", stamp, {table.snapshot(), stamp}});
        SuspendedWrites writes;
        table.keepSnapshot(stamp, table.snapshot());
        EXPECT_LE(core_->minReadTs(), table.snapshot());
        table.suspend(stamp, &writes, {1, 0, 1});
        EXPECT_TRUE(table.resume(stamp));
        table.suspend(stamp, &writes, {1, 0, 1});
        EXPECT_TRUE(table.isOpen(stamp));
        EXPECT_EQ(table.endDueBefore(1).writes, nullptr);
        EXPECT_EQ(table.endLargest(1, 0).writes, &writes);
        settle(table, stamp, {&result.version, 1}, kStampAborted);
    }
    std::string get(const std::string& key) {
        sync::Slice slice(core_->epochs);
        const std::optional<ValueRef> value = pages().get(key, {core_->table.snapshot(), 0});
        return value ? std::string(value->bytes) : "";
    }
    std::string getByHint(const std::string& key) {
        LeafHint hint;
        {
            sync::Slice slice(core_->epochs);
            Probe probe;
            probe.begin(tree_, key);
            while (probe.step()) {
            }
            hint = probe.leaf();
        }
        sync::Slice slice(core_->epochs);
        const auto value = pages().get(key, {core_->table.snapshot(), 0}, nullptr, hint);
        return value ? std::string(value->bytes) : "";
    }
    /// The existing keys of one thread.
    std::vector<std::string> scan(Direction direction, int thread) {
        std::vector<std::string> found;
        sync::Slice slice(core_->epochs);
        WalkFrom from{direction == Direction::kForward ? Edge::kFirst : Edge::kLast, "", true};
        const View view{core_->table.snapshot(), 0};
        for (bool more = true; more;) {
            const WalkResult result = pages().walk(
                direction, from, {.entries = 16}, view, [&](ByteView key, const auto&) {
                    if (key.back() == '0' + thread) {
                        found.emplace_back(key);
                    }
                });
            from = result.next;
            more = !result.atEnd;
        }
        return found;
    }
    /// Opens more writers than there have been entries so far.
    void openMany() {
        sync::Slice slice(core_->epochs);
        std::vector<uint64_t> stamps(TxnLimits().entriesPerChunk + 1);
        for (uint64_t& stamp : stamps) {
            stamp = *core_->table.open();
        }
        for (uint64_t stamp : stamps) {
            core_->table.setAborted(stamp);
            core_->table.close(stamp);
        }
    }
    /// A participant whose floor has no cell yet.
    void beginAsNewcomer() {
        constexpr uint16_t kUnused = 3;
        OpenCommit commit;
        core_->floors.begin(kUnused, &commit, kNoJournalLsn);
        CommitFloors::end(&commit);
    }
    void readAtPinnedSnapshot(const std::string& key, const std::string& expected) {
        sync::SnapshotPin pin;
        {
            sync::Slice slice(core_->epochs);
            pin.ts = core_->table.snapshot();
            slice.participant().pin(&pin);
        }
        {
            sync::Slice slice(core_->epochs);
            const std::optional<ValueRef> value = pages().get(key, {pin.ts, 0});
            EXPECT_TRUE(value && value->bytes == expected);
        }
        sync::Participant::unpin(&pin);
    }
    /// All parts of a checkpoint that touch pages in memory.
    void checkpoint() {
        EXPECT_EQ(core_->floors.commitLow([] { return kNoJournalLsn; }), kNoJournalLsn);
        TreeWriter writer(*core_, pages(), *this);
        writer.removeSparse();
        EXPECT_TRUE(writer.writeDuePages().isOk());
        writer.foldRested();
        sync::Slice slice(core_->epochs);
        pages().images().sortNewPages();
        (void)core_->freedValues.take();
    }
    void reclaim() { core_->epochs.tryAdvance(); }
    /// Registers the calling thread.
    void join() { core_->epochs.here(); }
    void expectSound() {
        sync::Slice slice(core_->epochs);
        EXPECT_EQ(checkTree(pages()).error, "");
    }
    uint64_t splits() const { return core_->splits.load(sync::kRelaxed); }

private:
    PageTree& pages() { return tree_.pages(); }
    void inSlice(const std::function<void()>& work) override {
        sync::Slice slice(core_->epochs);
        work();
    }
    Status writeImages(std::span<NewImage>) override { return Status::ok(); }
    void onBatch(uint64_t) override {}
    Status bringBack(PageTree&, PageEntry*) override { return Status::ok(); }  // nothing is evicted
    bool takeLookToMove(uint32_t) override { return false; }
    bool wantsMoved(const block::PagePlace&) const override { return false; }
    void noteMove(const block::PagePlace&) override {}
    void notePagesGone(uint32_t, const std::vector<PageId>&) override {}
    void noteFirstImage(uint32_t, PageId) override {}

    const std::shared_ptr<StoreCore> core_ = std::make_shared<StoreCore>(kTinyPages);
    Tree tree_{1, core_, core_->epochs, core_->codec};
};

/// What the stopped thread was doing.
struct Action {
    const char* name;
    void (*run)(World&);
    bool checkpoints = false;  // then the others do not: only one thread may at a time
};

std::string mine(int number) {
    return World::keyOf(kOthers, number);
}

const std::vector<Action> kActions = {
    {"get", [](World& world) { EXPECT_EQ(world.get(mine(5)), "first"); }},
    {"put", [](World& world) { EXPECT_TRUE(world.put({mine(5)}, "victim")); }},
    {"insert", [](World& world) { EXPECT_TRUE(world.put({mine(5) + "x"}, "victim")); }},
    {"erase", [](World& world) { EXPECT_TRUE(world.put({mine(5)}, "")); }},
    {"abort", [](World& world) { EXPECT_FALSE(world.put({mine(5)}, "victim", false)); }},
    {"suspended, and ended",
     [](World& world) {
         world.suspendAndEnd(mine(5));
         EXPECT_EQ(world.get(mine(5)), "first");
     }},
    {"several keys",
     [](World& world) {
         EXPECT_TRUE(world.put({mine(2), mine(9), mine(17)}, "victim"));
     }},
    {"large values, with their pages given back",
     [](World& world) {
         for (const char* fill : {"a", "b", "c"}) {
             EXPECT_TRUE(world.put({mine(5)}, std::string(20'000, *fill)));
             world.checkpoint();
             for (int i = 0; i < 4; ++i) {
                 world.reclaim();
             }
         }
     },
     true},
    {"more writers than ever", [](World& world) { world.openMany(); }},
    {"newcomer", [](World& world) { world.beginAsNewcomer(); }},
    {"pinned snapshot", [](World& world) { world.readAtPinnedSnapshot(mine(5), "first"); }},
    {"one key often, with rebuilds and trimming",
     [](World& world) {
         for (int i = 0; i < 12; ++i) {
             EXPECT_TRUE(world.put({mine(5)}, "victim" + std::to_string(i)));
         }
     }},
    {"new keys, with splits of leaves and inner nodes",
     [](World& world) {
         const uint64_t before = world.splits();
         int inTheWay = 0;  // a helper may have been faster with the one that it met
         for (int i = 0; i < 30; ++i) {
             const std::string key = mine(5) + std::to_string(i) + "v";
             inTheWay += world.put({key}, std::string(60, 'v')) ? 0 : 1;
         }
         EXPECT_LE(inTheWay, 1);
         EXPECT_GT(world.splits(), before);
     }},
    {"scan upwards",
     [](World& world) {
         EXPECT_EQ(world.scan(Direction::kForward, kOthers).size(), size_t{kKeysInUse});
     }},
    {"scan downwards",
     [](World& world) {
         EXPECT_EQ(world.scan(Direction::kBackward, kOthers).size(), size_t{kKeysInUse});
     }},
    {"checkpoint with folding",
     [](World& world) {
         world.checkpoint();
         world.checkpoint();  // now the leaves rest
     },
     true},
    {"reclaim",
     [](World& world) {
         for (int i = 0; i < 4; ++i) {
             world.reclaim();
         }
     }},
    {"get by a hint", [](World& world) { EXPECT_EQ(world.getByHint(mine(5)), "first"); }},
    {"removal of leaves, and freeing of their pages",
     [](World& world) {
         for (const char* value : {"a leaf for a few of these, which then goes", ""}) {
             for (int i = 10; i < 40; ++i) {
                 EXPECT_TRUE(world.put({mine(5) + std::to_string(i) + "r"}, value));
             }
             world.checkpoint();
             world.checkpoint();
         }
         for (int i = 0; i < 4; ++i) {
             world.reclaim();
         }
     },
     true},
};

constexpr size_t kSplits = 12;  // of kActions

/// One of the threads that must go on. Knows what its own keys hold.
class Other {
public:
    Other(World& world, int self, bool checkpoints)
        : world_(world), self_(self), checkpoints_(checkpoints) {
        for (int i = 0; i < kKeysInUse; ++i) {
            held_[World::keyOf(self, i)] = "first";
        }
    }

    void run() {
        for (int i = 0; i < kRounds; ++i) {
            const std::string key = World::keyOf(self_, i * 7 % kKeysInUse);
            change({key}, "value" + std::to_string(i));
            change({key + "n"}, std::string(40 + i, 'n'));
            change({key, World::keyOf(self_, i * 5 % kKeysInUse)}, "both");
            look(key);
            if (i % 3 == 0) {
                change({key}, "");
                look(key);
            }
            if (i % 10 == 5) {
                scanBothWays();
                world_.reclaim();
                if (checkpoints_) {
                    world_.checkpoint();
                }
            }
        }
        scanBothWays();
    }
    /// Once more, when the stopped thread has gone on as well.
    void lookAtAll() {
        for (const auto& [key, value] : held_) {
            EXPECT_EQ(world_.get(key), value) << key;
        }
        scanBothWays();
    }

private:
    static constexpr int kRounds = 24;

    void change(const std::vector<std::string>& keys, const std::string& value) {
        // No other thread writes these keys, so nothing can be in the way.
        EXPECT_TRUE(world_.put(keys, value));
        for (const std::string& key : keys) {
            if (value.empty()) {
                held_.erase(key);
            } else {
                held_[key] = value;
            }
        }
    }
    void look(const std::string& key) {
        const auto held = held_.find(key);
        EXPECT_EQ(world_.get(key), held == held_.end() ? "" : held->second);
    }
    void scanBothWays() {
        std::vector<std::string> expected, up;
        for (const std::string& key : world_.scan(Direction::kForward, self_)) {
            up.push_back(key);
        }
        for (const auto& [key, value] : held_) {
            if (key.back() == '0' + self_) {
                expected.push_back(key);
            }
        }
        EXPECT_EQ(up, expected);
        std::vector<std::string> down = world_.scan(Direction::kBackward, self_);
        std::reverse(down.begin(), down.end());
        EXPECT_EQ(down, expected);
    }

    World& world_;
    const int self_;
    const bool checkpoints_;
    std::map<std::string, std::string> held_;
};

/// A thread that is already stopped, in the middle of another operation.
struct Earlier {
    const Action* action;
    size_t at;
};

/// Stopped threads, and the others, which go on.
class Scene {
public:
    explicit Scene(const std::optional<Earlier>& earlier) {
        if (earlier) {
            earlier_.emplace(earlier->at, joining(), doing(*earlier->action));
            earlier_->waitUntilStopped();
        }
    }

    /// The operations of the action, in order.
    std::vector<CodePlace> placesOf(const Action& action) {
        Stoppable whole(Stoppable::kNever, joining(), doing(action));
        whole.waitUntilStopped();
        letEarlierGoOn();
        return whole.places();
    }
    /// The first and the last time that the action reaches each of its places.
    std::vector<size_t> stopsOf(const Action& action) {
        const std::vector<CodePlace> places = placesOf(action);
        std::map<CodePlace, std::pair<size_t, size_t>> met;
        for (size_t i = 1; i <= places.size(); ++i) {
            met.try_emplace(places[i - 1], i, i).first->second.second = i;
        }
        std::set<size_t> stops;
        for (const auto& [place, when] : met) {
            stops.insert({when.first, when.second});
        }
        return {stops.begin(), stops.end()};
    }

    /// Stops the action before its `at`-th operation, lets the others do their work, and lets it go
    /// on.
    void play(const Action& action, size_t at) {
        Stoppable victim(at, joining(), doing(action));
        victim.waitUntilStopped();
        std::vector<std::unique_ptr<Other>> others;
        for (int i = 0; i < kOthers; ++i) {
            others.push_back(std::make_unique<Other>(world_, i, i == 0 && !action.checkpoints));
        }
        {
            const Watchdog watchdog(std::string(action.name) + ", stopped before operation " +
                                    std::to_string(at) + " in " + victim.place().text());
            std::vector<platform::Thread> threads;
            for (auto& other : others) {
                threads.emplace_back("other", [&other] { other->run(); });
            }
        }
        letEarlierGoOn();
        victim.goOn();
        for (auto& other : others) {
            other->lookAtAll();
        }
        world_.expectSound();
    }

private:
    std::function<void()> joining() {
        return [this] { world_.join(); };
    }
    std::function<void()> doing(const Action& action) {
        return [this, &action] { action.run(world_); };
    }
    void letEarlierGoOn() {
        if (earlier_) {
            earlier_->goOn();
        }
    }

    World world_;
    std::optional<Stoppable> earlier_;
};

/// Which of the places: from `first` on every `each`-th one.
struct Some {
    size_t first = 0;
    size_t each = 1;
};

/// Stops at each of them in turn. Returns the number of places.
size_t stopAt(const Some& some, const Action& action, const std::optional<Earlier>& earlier = {}) {
    const std::vector<size_t> stops = Scene(earlier).stopsOf(action);
    size_t places = 0;
    for (size_t i = some.first; i < stops.size(); i += some.each) {
        Scene(earlier).play(action, stops[i]);
        ++places;
        if (::testing::Test::HasFailure()) {
            ADD_FAILURE() << action.name << ", stopped before operation " << stops[i];
            break;
        }
    }
    return places;
}

class Progress : public ::testing::TestWithParam<size_t> {};

TEST_P(Progress, OfTheOthersWhereverOneStops) {
    const Action& action = kActions[GetParam()];
    const size_t places = stopAt({}, action);
    EXPECT_GT(places, 0u);
    std::cout << action.name << ": stopped in " << places << " places\n";
}

INSTANTIATE_TEST_SUITE_P(All, Progress, ::testing::Range(size_t{0}, kActions.size()));

/// Operations that meet pages which the first thread has left in the middle of a change, and finish
/// it.
const std::vector<Action> kHelpers = {
    {"get beside", [](World& world) { EXPECT_EQ(world.get(mine(6)), "first"); }},
    {"put beside", [](World& world) { EXPECT_TRUE(world.put({mine(6)}, "helper")); }},
    {"insert beside",
     [](World& world) {
         for (const char* tail : {"a", "b", "c"}) {
             EXPECT_TRUE(world.put({mine(5) + tail}, std::string(60, 'h')));
         }
     }},
    {"checkpoint beside", [](World& world) { world.checkpoint(); }, true},
    // The first thread's own keys: they exist, or not, or are being changed by it.
    {"put in the way",
     [](World& world) {
         for (const char* number : {"0", "9", "19", "29"}) {
             world.put({mine(5) + number + "v"}, "helper");
         }
     }},
};

TEST(ProgressOfTwo, OfTheOthersWhereverAHelperStops) {
    const Action& first = kActions[kSplits];
    ASSERT_NE(std::string(first.name).find("splits"), std::string::npos);
    const std::vector<size_t> stops = Scene({}).stopsOf(first);
    constexpr size_t kEvery = 24, kEach = 8;  // all of them would take minutes
    size_t places = 0;
    for (size_t i = 0; i < stops.size() && !HasFailure(); i += kEvery) {
        for (const Action& helper : kHelpers) {
            const Some some{i / kEvery % kEach, kEach};
            places += stopAt(some, helper, Earlier{&first, stops[i]});
        }
    }
    EXPECT_GT(places, 0u);
    std::cout << "helpers: stopped in " << places << " places\n";
}

/// The sources of the page path and of what a commit adds to it.
const std::vector<std::string> kPagePath = {"engine/commits/commit_floors.cpp",
                                            "engine/commits/txn_table.cpp",
                                            "engine/commits/txn_table.h",
                                            "engine/node/leaf_merge.h",
                                            "engine/node/node.cpp",
                                            "engine/node/node.h",
                                            "engine/node/page_entry.cpp",
                                            "engine/node/page_entry.h",
                                            "engine/tree/leaf_folder.cpp",
                                            "engine/tree/leaf_removal.cpp",
                                            "engine/tree/page_list.cpp",
                                            "engine/tree/page_list.h",
                                            "engine/tree/resident_pages.cpp",
                                            "engine/tree/tree_core.h",
                                            "engine/tree/tree_env.h",
                                            "engine/tree/tree_images.cpp",
                                            "engine/tree/tree_images.h",
                                            "engine/tree/tree_merge.cpp",
                                            "engine/tree/tree_read.cpp",
                                            "engine/tree/tree_rebuild.cpp",
                                            "engine/tree/tree_split.cpp",
                                            "engine/tree/tree_walk.cpp",
                                            "engine/tree/tree_write.cpp",
                                            "engine/tree/version_chain.cpp",
                                            "engine/txn/write_set.cpp",
                                            "engine/value/freed_values.h",
                                            "engine/value/version.cpp",
                                            "engine/value/version.h",
                                            "engine/variants/epoch_hold.h",
                                            "sync/reclaim/epoch_table.cpp",
                                            "sync/reclaim/participant.cpp"};

/// Labels at which no thread is stopped, and the reasons.
const std::map<std::string, std::string> kNotOnThePath = {
    {"chunk.init", "a chunk of entries is made: no other thread has it"},
    {"ring.init", "the table is made: no other thread has it"},
    {"ring.set", "replay is single-threaded"},
    {"clock.set", "replay is single-threaded"},
    {"clock.count", "a statistic"},
    {"entry.first", "the tree is made: no other thread has it"},
    {"page.first", "the tree is made: no other thread has it"},
    {"page.loaded", "opening is single-threaded"},
    {"ended.own", "only the checkpoint's thread ends snapshots, and no thread waits for that"},
    {"ended.raise", "only the checkpoint's thread ends snapshots, and no thread waits for that"},
    {"ended.pass", "only the checkpoint's thread ends snapshots, and no thread waits for that"},
    {"epoch.id", "the domain is made: no other thread has it"},
    {"grace.begin",
     "only who begins to keep a history of snapshots asks, and no thread waits for that"},
    {"grace.end",
     "only who begins to keep a history of snapshots asks, and no thread waits for that"},
    {"epoch.join", "joining is a control path with a mutex: once for each thread"},
    {"epoch.live", "joining and leaving are control paths with a mutex: once for each thread"},
    {"chunk.end", "the end of the table: no other thread uses it"},
    {"floor.end", "the end of the table: no other thread uses it"},
    {"waiters.end", "the end of the table: no other thread uses it"},
    {"epoch.count", "turns depend on the clock and are left out here; a relaxed load"},
    {"turns.add", "turns depend on the clock and are left out here; a relaxed sum"},
    {"epoch.end", "the end of the domain: no other thread uses it"},
    {"tree.end", "the end of the tree: no other thread has it"},
    {"space.read", "a load in front of the journal's append, which is not made here"},
    {"entry.dead", "of a split that was not installed: needs a race that the models have"},
    {"page.dead", "of a split that was not installed: needs a race that the models have"},
};

TEST(ProgressLabels, AreAllStoppedAt) {
    std::set<CodePlace> places;
    const auto collect = [&](const std::vector<CodePlace>& some) {
        places.insert(some.begin(), some.end());
    };
    for (const Action& action : kActions) {
        collect(Scene({}).placesOf(action));
    }
    for (size_t at : Scene({}).stopsOf(kActions[kSplits])) {
        for (const Action& helper : kHelpers) {
            collect(Scene(Earlier{&kActions[kSplits], at}).placesOf(helper));
        }
    }
    const Labels labels(kPagePath);
    const std::set<std::string> reached = labels.at(places);
    EXPECT_GT(reached.size(), 0u);
    for (const std::string& label : labels.all()) {
        if (kNotOnThePath.count(label) == 0) {
            EXPECT_EQ(reached.count(label), 1u) << label;
        }
    }
    for (const auto& [label, reason] : kNotOnThePath) {
        EXPECT_EQ(reached.count(label), 0u) << label << " is reached, although " << reason;
    }
}

}  // namespace
}  // namespace freshet::engine
