// SPDX-License-Identifier: Apache-2.0
/// Large write sets that another thread ends because memory is short (INV-engine-21): what the
/// owner learns, what others see, and how memory is freed. On trees and the transaction table, with
/// real threads; the models are in txn_explore_test.cpp.
#include "freshet/engine/txn/write_set.h"

#include "freshet/platform/thread.h"
#include "freshet/testing/sim/seed.h"

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string>
#include <vector>

namespace freshet::engine {
namespace {

constexpr uint64_t kWhenever = UINT64_MAX;  // it may have been suspended just now
constexpr size_t kValueBytes = 8 * 1024;
/// With that many values of that size a write set is large.
constexpr int kMany = WriteSet::kLargeBytes / kValueBytes;

struct World {
    std::shared_ptr<StoreCore> core = std::make_shared<StoreCore>();
    std::shared_ptr<Tree> tree = std::make_shared<Tree>(2, core, core->epochs, core->codec);

    uint64_t endLargest(uint64_t togetherMin = 0) {
        return endLargestWrites(*core, kWhenever, togetherMin);
    }
    /// The value that a new snapshot sees.
    std::string get(const std::string& key) {
        sync::Slice slice(core->epochs);
        const auto value = tree->pages().get(key, {core->table.snapshot(), 0});
        return value ? std::string(value->bytes.substr(0, 1)) : "";
    }
};

/// Uses its write set as a Txn does.
class Writer {
public:
    /// `endNanos`: when its time limit is; 0: it has none.
    explicit Writer(World& world, uint64_t endNanos = 0) : world_(world), endNanos_(endNanos) {
        begin();
    }
    ~Writer() { abort(); }
    Writer(const Writer&) = delete;
    Writer& operator=(const Writer&) = delete;

    void begin() {
        sync::Slice slice(core().epochs);
        pin_.ts = core().table.snapshot();
        slice.participant().pin(&pin_);
    }
    enum class Result : uint8_t { kDone, kBusy, kEnded };
    Result put(const std::string& key, char fill) {
        if (!own_.resume(core().table)) {
            return Result::kEnded;
        }
        const Result result = putInHand(key, std::string(kValueBytes, fill));
        if (own_.areForOthersToEnd()) {
            suspend();
        }
        return result;
    }
    /// Puts `count` keys with the same value, until one fails.
    Result putAll(const std::string& prefix, char fill, int count = kMany) {
        Result result = Result::kDone;
        for (int i = 0; i < count && result == Result::kDone; ++i) {
            result = put(prefix + std::to_string(i), fill);
        }
        return result;
    }
    /// nullopt: it was ended.
    std::optional<std::string> get(const std::string& key) {
        sync::Slice slice(core().epochs);
        const auto value = world_.tree->pages().get(key, {pin_.ts, own_.stamp()});
        if (own_.wereEnded(core().table)) {
            return std::nullopt;
        }
        return value ? std::string(value->bytes.substr(0, 1)) : "";
    }
    bool commit() {
        if (!own_.resume(core().table)) {
            return false;
        }
        sync::WaitToken token;
        EXPECT_TRUE(own_.get()->commit(&token).isOk());
        reset();
        return true;
    }
    void abort() {
        if (own_.resume(core().table) && own_.get() != nullptr) {
            own_.get()->abort();
        }
        reset();
    }
    /// Completes when the writes have ended.
    sync::WaitToken endOf() { return core().table.endOf(own_.stamp()); }

private:
    StoreCore& core() { return *world_.core; }
    Result putInHand(const std::string& key, const std::string& value) {
        sync::Slice slice(core().epochs);
        if (own_.get() == nullptr) {
            own_.open(world_.core, *core().table.open(), endNanos_);
        }
        const WriteResult result = world_.tree->pages().write(
            {WriteKind::kPut, VersionOp::kPut, key, value, own_.stamp(), {pin_.ts, own_.stamp()}});
        if (result.kind != WriteResult::Kind::kDone) {
            return Result::kBusy;
        }
        own_.get()->add(*world_.tree, result.version, key, value);
        return Result::kDone;
    }
    void suspend() {
        if (pin_.isPinned()) {
            core().table.keepSnapshot(own_.stamp(), pin_.ts);
            sync::Participant::unpin(&pin_);
        }
        own_.suspend();
    }
    void reset() {
        own_.reset();
        if (pin_.isPinned()) {
            sync::Participant::unpin(&pin_);
        }
    }

    World& world_;
    const uint64_t endNanos_;
    OwnWrites own_;
    sync::SnapshotPin pin_;
};

using Result = Writer::Result;

TEST(LargeWrites, EndWithoutTheirOwner) {
    World world;
    {
        Writer before(world);
        ASSERT_EQ(before.put("a0", 'o'), Result::kDone);
        ASSERT_TRUE(before.commit());
    }
    Writer idle(world);
    ASSERT_EQ(idle.putAll("a", 'x'), Result::kDone);
    Writer other(world);
    EXPECT_EQ(other.put("a0", 'y'), Result::kBusy);
    const sync::WaitToken token = idle.endOf();
    EXPECT_FALSE(token.isDone());

    {
        Writer later(world);
        ASSERT_EQ(later.put("c", 'c'), Result::kDone);
        ASSERT_TRUE(later.commit());
    }
    const uint64_t held = world.core->minReadTs();
    EXPECT_LT(held, world.core->table.snapshot()) << "its snapshot stays";
    other.abort();
    EXPECT_EQ(world.core->minReadTs(), held);

    EXPECT_GE(world.endLargest(), WriteSet::kLargeBytes);
    EXPECT_TRUE(token.isDone());
    EXPECT_EQ(world.core->minReadTs(), world.core->table.snapshot()) << "and ends with it";
    other.begin();
    EXPECT_EQ(world.get("a0"), "o");
    EXPECT_EQ(world.get("a1"), "");
    EXPECT_EQ(other.put("a0", 'y'), Result::kDone);
    EXPECT_TRUE(other.commit());
    EXPECT_EQ(world.endLargest(), 0u) << "once is enough";

    // Another transaction has the entry by now.
    Writer third(world);
    ASSERT_EQ(third.put("b", 'z'), Result::kDone);
    EXPECT_FALSE(idle.get("a1"));
    EXPECT_EQ(idle.put("a1", 'x'), Result::kEnded);
    EXPECT_FALSE(idle.get("a1"));
    EXPECT_FALSE(idle.commit());
    EXPECT_TRUE(third.commit());
    idle.abort();
    idle.begin();
    ASSERT_EQ(idle.put("a1", 'n'), Result::kDone);
    EXPECT_TRUE(idle.commit());
    EXPECT_EQ(world.get("a0") + world.get("a1") + world.get("b"), "ynz");
}

TEST(LargeWrites, TheLargestEndsFirstAndSmallOnesDoNot) {
    World world;
    Writer small(world);
    ASSERT_EQ(small.putAll("s", 's', kMany / 2), Result::kDone);
    EXPECT_EQ(world.endLargest(), 0u);
    Writer large(world);
    ASSERT_EQ(large.putAll("l", 'l'), Result::kDone);
    Writer larger(world);
    ASSERT_EQ(larger.putAll("m", 'm', 2 * kMany), Result::kDone);
    EXPECT_EQ(world.endLargest(100 * WriteSet::kLargeBytes), 0u) << "not worth it";
    EXPECT_EQ(endLargestWrites(*world.core, 0, 0), 0u) << "none has been suspended for so long";

    EXPECT_GT(world.endLargest(), 0u);
    EXPECT_EQ(large.get("l0"), "l");
    EXPECT_FALSE(larger.get("m0"));
    EXPECT_TRUE(large.commit());
    EXPECT_FALSE(larger.commit());
    EXPECT_TRUE(small.commit());
    EXPECT_EQ(world.get("s0") + world.get("l0") + world.get("m0"), "sl");
}

TEST(LargeWrites, TheirMemoryIsFreedByTheNextFolds) {
    World world;
    const uint64_t before = MemoryCount::bytes();
    {
        Writer idle(world);
        ASSERT_EQ(idle.putAll("a", 'x', 8 * kMany), Result::kDone);
        ASSERT_GT(MemoryCount::bytes(), before + 8 * WriteSet::kLargeBytes);
        ASSERT_GT(world.endLargest(), 0u);
        for (int i = 0; i < 8 * kMany; ++i) {
            sync::Slice slice(world.core->epochs);
            world.tree->pages().rebuildForTest("a" + std::to_string(i));
        }
        for (int i = 0; i < 10; ++i) {
            world.core->epochs.tryAdvance();
        }
        EXPECT_LT(MemoryCount::bytes(), before + WriteSet::kLargeBytes)
            << "its owner is still idle";
    }
}

TEST(OldWrites, EndHoweverSmall) {
    World world;
    Writer old(world, 100);
    ASSERT_EQ(old.put("old", 'o'), Result::kDone);
    Writer older(world, 99);
    ASSERT_EQ(older.put("older", 'p'), Result::kDone);
    Writer young(world, 200);
    ASSERT_EQ(young.put("young", 'y'), Result::kDone);
    Writer ageless(world);
    ASSERT_EQ(ageless.putAll("ageless", 'a'), Result::kDone) << "suspended for its size";
    EXPECT_FALSE(endWritesDueBefore(*world.core, 99));
    EXPECT_TRUE(endWritesDueBefore(*world.core, 100));
    EXPECT_FALSE(endWritesDueBefore(*world.core, 100));
    EXPECT_EQ(older.put("more", 'p'), Result::kEnded);
    EXPECT_EQ(old.put("more", 'o'), Result::kDone);
    EXPECT_TRUE(endWritesDueBefore(*world.core, 101));
    EXPECT_FALSE(endWritesDueBefore(*world.core, 101));

    EXPECT_FALSE(old.get("old"));
    EXPECT_FALSE(old.commit());
    EXPECT_EQ(young.get("young"), "y");
    EXPECT_TRUE(young.commit());
    EXPECT_TRUE(ageless.commit());
    EXPECT_EQ(world.get("old") + world.get("older") + world.get("young") + world.get("ageless1"),
              "ya");
}

/// Owners that write, read, commit and abort, while other threads end suspended write sets.
class Owner {
public:
    Owner(World& world, int self, uint64_t seed)
        : world_(world), prefix_(std::string(1, static_cast<char>('a' + self))), random_(seed) {}

    void run() {
        for (int round = 0; round < kRoundsMax && (commits_ < kWanted || ends_ < kWanted);
             ++round) {
            const char fill = static_cast<char>('A' + round % 26);
            Writer writer(world_);
            const bool done = writeAndRead(&writer, fill);
            if (random_() % 4 == 0) {
                writer.abort();
            } else if (done && writer.commit()) {
                held_ = fill;
                ++commits_;
            }
            ASSERT_EQ(world_.get(prefix_ + "0"), held_) << prefix_;
            ASSERT_EQ(world_.get(prefix_ + std::to_string(kKeys - 1)), held_) << prefix_;
        }
    }
    int commits() const { return commits_; }
    int ends() const { return ends_; }

private:
    static constexpr int kRoundsMax = 10'000;
    static constexpr int kWanted = 20;
    static constexpr int kKeys = kMany + 8;

    bool writeAndRead(Writer* writer, char fill) {
        for (int i = 0; i < kKeys; ++i) {
            const std::string key = prefix_ + std::to_string(i);
            if (writer->put(key, fill) == Result::kEnded) {
                ++ends_;
                return false;
            }
            for (int j = i; j >= 0; j -= kKeys / 8) {
                const std::string mine = prefix_ + std::to_string(j);
                const std::optional<std::string> read = writer->get(mine);
                EXPECT_TRUE(!read || *read == std::string(1, fill)) << mine << " " << *read;
            }
        }
        return true;
    }

    World& world_;
    const std::string prefix_;
    std::mt19937_64 random_;
    std::string held_;
    int commits_ = 0;
    int ends_ = 0;
};

TEST(LargeWrites, EitherCommitOrEnd) {
    constexpr int kOwners = 3;
    const uint64_t seed = testing::testSeed();
    World world;
    std::vector<Owner> owners;
    for (int i = 0; i < kOwners; ++i) {
        owners.emplace_back(world, i, seed + i);
    }
    sync::Atomic<int> running{kOwners};
    {
        std::vector<platform::Thread> threads;
        for (Owner& owner : owners) {
            threads.emplace_back("owner", [&] {
                owner.run();
                running.fetch_sub(1, sync::kRelaxed);
            });
        }
        threads.emplace_back("ender", [&] {
            std::mt19937_64 random(seed);
            while (running.load(sync::kRelaxed) != 0) {
                for (uint64_t tries = random() % 5'000; tries > 0; --tries) {
                    world.endLargest();
                }
                platform::sleepMillis(random() % 4);
            }
        });
    }
    for (const Owner& owner : owners) {
        EXPECT_GT(owner.commits(), 0);
        EXPECT_GT(owner.ends(), 0);
    }
}

}  // namespace
}  // namespace freshet::engine
