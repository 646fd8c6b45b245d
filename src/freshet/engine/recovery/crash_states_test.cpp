// SPDX-License-Identifier: Apache-2.0
/// The store in every kind of state that a crash could have left its files in: journal, checkpoints
/// and recycled segments together. Opening must find the state after some commit, and none before
/// the last that was acknowledged as durable. FRESHET_CRASH_STATES asks for more states.
#include "freshet/testing/sim/crash_states.h"

#include "freshet/engine/txn/store_test_support.h"
#include "freshet/testing/sim/faulty_file_system.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace freshet::engine {
namespace {

using testing::CrashState;
using testing::CrashStatesCount;
using testing::FaultKind;
using testing::MemoryFileSystem;

constexpr TreeId kTrees[] = {10, 11};
constexpr int kKeys = 400;
/// Most transactions fit into a record; large ones are chains of records.
constexpr uint32_t kRecordBytes = 64 << 10;
constexpr uint64_t kLargeKeys = 60;
constexpr size_t kLargeValueBytes = 40'000;
constexpr uint64_t kSuperblocksBytes = 8192;  // at the beginning of the data file

/// How much of a refused superblock reaches the disk: nothing, a part, all.
constexpr FaultKind kRefusals[] = {
    FaultKind::kError, FaultKind::kShortWrite, FaultKind::kLateError};

testing::FaultRule refusal(FaultKind kind, double chance, uint64_t times) {
    return {.path = "*/data.freshet",
            .kind = kind,
            .error = Status(Code::kNoSpace, "the disk is full"),
            .chance = chance,
            .times = times,
            .below = kSuperblocksBytes};
}

/// The content of both trees, by noted().
using Contents = std::map<std::string, std::string>;

/// Of a large value, what it begins with and whether the rest is what it was filled with.
std::string noted(const std::string& value) {
    constexpr size_t kBegin = 8;
    const bool isLarge = value.size() == kLargeValueBytes;
    return !isLarge ? value
           : value.find_first_not_of(value.back(), kBegin) == std::string::npos
               ? value.substr(0, kBegin) + "..." + value.back()
               : "mixed";
}

StoreOptions tinyOptions(platform::FileSystem& files) {
    StoreOptions options;
    options.files = &files;
    options.directory = "/db";
    options.journalSegmentBytesMax = 2u << 20;  // the smallest possible
    options.checkpointIntervalMs = 3'600'000;
    options.memoryBytes = 1;  // leaves are evicted as soon as possible
    options.recordBytesMax = kRecordBytes;
    options.onFatal = [](const Status&) {};
    return options;
}

/// What a run did, and what was promised at which position of its trace.
class History {
public:
    /// `chains`: some of the transactions are chains of records, of several of the log's blocks.
    explicit History(bool chains) : chains_(chains) {}

    /// Commits with a few checkpoints in between; each start is ended by a close or just left. With
    /// a plan, superblocks are refused now and then, but not while the store is being opened.
    void run(testing::TraceRecorder& disk, testing::FaultPlan* plan, std::mt19937_64& random) {
        testing::FaultPlan none(0);
        testing::FaultyFileSystem files(disk, plan != nullptr ? *plan : none);
        for (int start = 0; start < 2; ++start) {
            auto store = openStore(tinyOptions(files));
            ASSERT_NE(store, nullptr);
            std::vector<size_t> rules;
            for (const FaultKind kind : kRefusals) {
                if (plan != nullptr) {
                    rules.push_back(plan->add(refusal(kind, 1, 1)));
                    rules.push_back(plan->add(refusal(kind, 0.25, testing::kEver)));
                }
            }
            for (int i = 0; i < 60; ++i) {
                ASSERT_NO_FATAL_FAILURE(commitOne(*store, disk, random));
                if (i % 20 == 10) {
                    ASSERT_NO_FATAL_FAILURE(checkpoint(*store, disk, random));
                    store->evictAll();
                }
            }
            EXPECT_GE(store->stats().checkpoints, 3u);
            for (const size_t rule : rules) {
                plan->cancel(rule);
            }
            ASSERT_TRUE(store->close().isOk());
            durable_.push_back({disk.position(), states_.size() - 1});
        }
    }
    uint64_t refused() const { return refused_; }

    /// Ok if `found` is the state after a commit that may be the last in `state`.
    Status judge(const Contents& found, const CrashState& state) const {
        size_t least = 0;
        for (const Durable& durable : durable_) {
            least = durable.position <= state.prefix ? durable.commit : least;
        }
        for (size_t i = least; i < states_.size(); ++i) {
            if (states_[i] == found) {
                return Status::ok();
            }
        }
        for (size_t i = 0; i < least; ++i) {
            if (states_[i] == found) {
                return Status(Code::kCorruption,
                              "WRONG: the state after commit " + std::to_string(i) + ", though " +
                                  std::to_string(least) + " was durable");
            }
        }
        return Status(Code::kCorruption, "WRONG: a state that never existed");
    }

private:
    struct Durable {
        size_t position;
        size_t commit;
    };

    /// A checkpoint that is refused is made again, after more commits.
    void checkpoint(Store& store, testing::TraceRecorder& disk, std::mt19937_64& random) {
        Status status = store.checkpointNow();
        for (; status.code() == Code::kNoSpace; status = store.checkpointNow()) {
            ++refused_;
            store.evictAll();
            ASSERT_NO_FATAL_FAILURE(commitOne(store, disk, random));
        }
        ASSERT_TRUE(status.isOk()) << status.toString();
    }

    void commitOne(Store& store, testing::TraceRecorder& disk, std::mt19937_64& random) {
        Contents after = states_.back();
        Txn txn(store);
        for (uint64_t n = 1 + random() % 6; n > 0; --n) {
            TreeId tree = kTrees[random() % 2];
            std::string key = "key " + std::to_string(random() % kKeys);
            std::string name = std::to_string(tree) + "/" + key;
            TreeRef ref = store.tree(tree);
            const bool isShort = store.stats().spaceShort;  // then additions are refused
            if ((isShort || random() % 4 == 0) && after.contains(name)) {
                ASSERT_TRUE(waiting(txn, [&] { return txn.erase(*ref, key); }).isOk());
                after.erase(name);
            } else if (!isShort) {
                std::string value = std::to_string(states_.size()) +
                                    std::string(random() % 600, static_cast<char>('a' + n));
                ASSERT_TRUE(waiting(txn, [&] { return txn.put(*ref, key, value); }).isOk());
                after[name] = value;
            }
        }
        if (chains_ && random() % 8 == 0 && !store.stats().spaceShort) {
            ASSERT_NO_FATAL_FAILURE(putLarge(store, txn, &after));
        }
        if (!txn.hasWrites()) {
            return;  // such a commit promises nothing of earlier ones
        }
        const Status status = commitAndWait(txn);
        if (status.code() == Code::kNoSpace) {
            ++refused_;  // the store's own thread has met a full disk
            return;
        }
        ASSERT_TRUE(status.isOk()) << status.toString();
        states_.push_back(std::move(after));
        if (random() % 2 == 0) {
            ASSERT_TRUE(waiting(txn, [&] { return txn.waitFor(Durability::kDurable); }).isOk());
            durable_.push_back({disk.position(), states_.size() - 1});
        }
    }

    void putLarge(Store& store, Txn& txn, Contents* after) {
        const TreeRef tree = store.tree(kTrees[0]);
        for (uint64_t n = 0; n < kLargeKeys; ++n) {
            const std::string key = "large " + std::to_string(n);
            std::string value = std::to_string(states_.size());
            value.resize(kLargeValueBytes, static_cast<char>('A' + n));
            ASSERT_TRUE(waiting(txn, [&] { return txn.put(*tree, key, value); }).isOk());
            (*after)[std::to_string(kTrees[0]) + "/" + key] = noted(value);
        }
    }

    const bool chains_;
    std::vector<Contents> states_{Contents()};  // after each commit; the first is empty
    std::vector<Durable> durable_;
    uint64_t refused_ = 0;  // checkpoints and commits
};

Contents contentsOf(Store& store) {
    Contents found;
    Txn txn(store);
    for (TreeId tree : kTrees) {
        Cursor cursor(txn, store.tree(tree));
        for (Status status = waiting(txn, [&] { return cursor.first(); });
             status.isOk() && cursor.valid();
             status = waiting(txn, [&] { return cursor.next(); })) {
            found[std::to_string(tree) + "/" + std::string(cursor.key())] =
                noted(std::string(cursor.value()));
        }
    }
    return found;
}

/// Opens and reads, and sometimes goes on from there and crashes again.
Status checkState(const History& history,
                  MemoryFileSystem& disk,
                  const CrashState& state,
                  uint64_t* chainsDropped) {
    Contents found;
    {
        FRESHET_ASSIGN_OR_RETURN(auto store, Store::open(tinyOptions(disk)));
        *chainsDropped += store->stats().chainsDropped;
        found = contentsOf(*store);
        FRESHET_RETURN_IF_ERROR(history.judge(found, state));
        FRESHET_ASSIGN_OR_RETURN(FilesReport report, store->verifyFiles());
        if (!report.errors.empty()) {
            return Status(Code::kCorruption, "WRONG: " + report.errors[0]);
        }
        if (state.number % 4 != 0) {
            return store->close();
        }
        putDurably(*store, *store->tree(kTrees[0]), "afterwards", "still here");
        disk.crash();
    }
    found[std::to_string(kTrees[0]) + "/afterwards"] = "still here";
    FRESHET_ASSIGN_OR_RETURN(auto again, Store::open(tinyOptions(disk)));
    return contentsOf(*again) == found
               ? Status::ok()
               : Status(Code::kCorruption, "WRONG: another state at the second start");
}

struct Met {
    uint64_t refused = 0;
    uint64_t chainsDropped = 0;
};

/// Runs, makes states of the recorded trace, and checks each.
Met runAndCheck(uint64_t seed, testing::FaultPlan* plan, bool chains = false) {
    SCOPED_TRACE("FRESHET_SEED=" + std::to_string(seed));
    std::mt19937_64 random(seed);
    MemoryFileSystem memory;
    testing::TraceRecorder disk(memory);
    History history(chains);
    history.run(disk, plan, random);
    if (::testing::Test::HasFatalFailure()) {
        return {};
    }
    Met met;
    CrashStatesCount count;
    Status status = forEachCrashState(
        disk.trace(),
        {.seed = seed, .statesMax = testing::crashStatesWanted(150)},
        [&](MemoryFileSystem& crashed, const CrashState& state) {
            return checkState(history, crashed, state, &met.chainsDropped);
        },
        &count);
    EXPECT_TRUE(status.isOk()) << status.toString();
    std::printf("%llu states of %zu operations, %llu of them torn, %llu chains cut\n",
                static_cast<unsigned long long>(count.states),
                disk.trace().size(),
                static_cast<unsigned long long>(count.torn),
                static_cast<unsigned long long>(met.chainsDropped));
    met.refused = history.refused();
    return met;
}

TEST(StoreCrashStates, EveryStateHoldsWhatWasAcknowledgedAndNoHalfOfAnything) {
    EXPECT_EQ(runAndCheck(testSeed(), nullptr).refused, 0u);
}

TEST(StoreCrashStates, AlsoWhenTheDiskRefusedSuperblocksOfWhichItMayHavePartsOrAll) {
    const uint64_t seed = testSeed();
    testing::FaultPlan plan(seed);
    EXPECT_GE(runAndCheck(seed, &plan).refused, 2u) << plan.summary();
}

TEST(StoreCrashStates, AlsoInTheMiddleOfAChainOfRecords) {
    // The states are a sample, which need not have one with a cut chain. Usually it has several.
    constexpr uint64_t kRoundsMax = 10;
    uint64_t chainsCut = 0;
    for (uint64_t round = 0; chainsCut == 0 && round < kRoundsMax; ++round) {
        chainsCut = runAndCheck(testSeed() + round, nullptr, true).chainsDropped;
    }
    EXPECT_GE(chainsCut, 1u);
}

}  // namespace
}  // namespace freshet::engine
