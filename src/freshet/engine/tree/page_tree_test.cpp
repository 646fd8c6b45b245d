// SPDX-License-Identifier: Apache-2.0
/// The page tree under many threads with tiny pages, so that rebuilds and splits happen all the
/// time. Every commit and every read is written down and judged afterwards: a read at a snapshot
/// must see exactly the newest commit up to it (snapshot isolation), in a sound tree.
#include "freshet/engine/tree/tree_check.h"
#include "freshet/engine/txn/store_test_support.h"
#include "freshet/engine/txn/write_set.h"
#include "freshet/platform/thread.h"

#include <map>
#include <mutex>
#include <tuple>
#include <vector>

namespace freshet::engine {
namespace {

constexpr TreeLimits kTinyPages{.deltaKeysMax = 6,
                                .deltaBytesMax = 2000,
                                .leafBytesMax = 600,
                                .innerBytesMax = 200,
                                .bucketsMax = 4,
                                .denseKeysMin = 4,
                                .sharedValueBytesMin = 100,
                                .trimDepthMin = 2};

struct Committed {
    std::string key;
    uint64_t ts;
    std::string value;  // empty: deleted
};
struct Seen {
    std::string key;
    uint64_t snapshot;
    std::string value;
};
struct Log {
    std::vector<Committed> commits;
    std::vector<Seen> reads;
};

class Worker {
public:
    /// `nextId`: the next record id, if the keys are record ids; else null.
    Worker(StoreCore* core, PageTree* tree, uint64_t seed, Log* log, sync::Atomic<uint64_t>* nextId)
        : core_(*core), tree_(*tree), random_(seed), log_(*log), nextId_(nextId) {}

    void run(int rounds) {
        for (int i = 0; i < rounds; ++i) {
            switch (random_() % 8) {
                case 0:
                    scan(random_() % 2 == 0 ? Direction::kForward : Direction::kBackward);
                    break;
                case 1:
                case 2:
                    readTwice();
                    break;
                default:
                    write();
            }
        }
    }

private:
    std::string recordId() {
        const uint64_t next = random_() % 3 == 0 ? nextId_->fetch_add(1, sync::kRelaxed)
                                                 : nextId_->load(sync::kRelaxed);
        std::string key(kRecordIdBytes, '\0');
        storeBe64(key.data(), next - random_() % 12);
        return random_() % 20 == 0 ? key + '\0' : key;
    }
    std::string randomKey() {
        if (nextId_ != nullptr) {
            return recordId();
        }
        std::string key = random_() % 2 == 0 ? "shared-prefix-" : "";
        return key + std::to_string(random_() % 300);
    }
    std::string get(const std::string& key, uint64_t snapshot) {
        const std::optional<ValueRef> value = tree_.get(key, {snapshot, 0});
        return value ? std::string(value->bytes) : std::string();
    }
    void readTwice() {
        const std::string key = randomKey();
        sync::SnapshotPin pin;
        {
            sync::Slice slice(core_.epochs);
            pin.ts = core_.table.snapshot();
            slice.participant().pin(&pin);
            log_.reads.push_back({key, pin.ts, get(key, pin.ts)});
        }
        platform::yieldThread();
        {
            sync::Slice slice(core_.epochs);
            log_.reads.push_back({key, pin.ts, get(key, pin.ts)});
        }
        sync::Participant::unpin(&pin);
    }
    void scan(Direction direction) {
        sync::Slice slice(core_.epochs);
        const uint64_t snapshot = core_.table.snapshot();
        const std::string from = randomKey();
        std::string last = from;
        bool ordered = true;
        tree_.walk(direction,
                   {Edge::kNone, from, true},
                   {.entries = 20},
                   {snapshot, 0},
                   [&](ByteView key, const ValueRef& value) {
                       ordered = ordered &&
                                 (direction == Direction::kForward ? last <= key : last >= key);
                       last = key;
                       log_.reads.push_back({last, snapshot, std::string(value.bytes)});
                   });
        EXPECT_TRUE(ordered);
    }
    void write() {
        sync::Slice slice(core_.epochs);
        const uint64_t stamp = *core_.table.open();
        const View view{core_.table.snapshot(), stamp};
        std::vector<Version*> versions;
        std::map<std::string, std::string> changes;
        bool ok = random_() % 6 != 0;  // else: aborted
        const size_t keys = 1 + random_() % 3;
        for (size_t i = 0; i < keys; ++i) {
            const std::string key = randomKey();
            const bool erase = random_() % 4 == 0;
            std::string value = erase ? "" : std::to_string(random_());
            value.append(!erase && random_() % 8 == 0 ? 150 : 0, 'x');
            const WriteResult result = tree_.write({WriteKind::kPut,
                                                    erase ? VersionOp::kDelete : VersionOp::kPut,
                                                    key,
                                                    value,
                                                    stamp,
                                                    view});
            if (result.kind != WriteResult::Kind::kDone) {
                ok = false;
                break;
            }
            versions.push_back(result.version);
            changes[key] = value;
        }
        uint64_t final = kStampAborted;
        if (ok) {
            core_.table.setCommitting(stamp);
            final = core_.table.claim(stamp);
        } else {
            core_.table.setAborted(stamp);
        }
        settle(core_.table, stamp, versions, final);
        for (const auto& [key, value] : changes) {
            if (ok) {
                log_.commits.push_back({key, final, value});
            }
        }
    }

    StoreCore& core_;
    PageTree& tree_;
    std::mt19937_64 random_;
    Log& log_;
    sync::Atomic<uint64_t>* const nextId_;
};

class PageTreeThreads : public ::testing::TestWithParam<std::tuple<int, bool>> {};

TEST_P(PageTreeThreads, EveryReadSeesItsSnapshot) {
    const uint64_t seed = testSeed();
    auto core = std::make_shared<StoreCore>(kTinyPages);
    Tree tree(1, core, core->epochs, core->codec);
    const auto [threadCount, appends] = GetParam();
    const auto count = static_cast<size_t>(threadCount);
    sync::Atomic<uint64_t> nextId{1000};
    std::vector<Log> logs(count);
    {
        std::vector<platform::Thread> threads;
        for (size_t i = 0; i < count; ++i) {
            threads.emplace_back("worker", [&, i] {
                Worker(
                    core.get(), &tree.pages(), seed + i * 31, &logs[i], appends ? &nextId : nullptr)
                    .run(8000 / threadCount);
            });
        }
    }
    std::map<std::string, std::map<uint64_t, std::string>> history;
    for (const Log& log : logs) {
        for (const Committed& commit : log.commits) {
            ASSERT_TRUE(history[commit.key].emplace(commit.ts, commit.value).second);
        }
    }
    auto expected = [&](const std::string& key, uint64_t snapshot) {
        const auto found = history.find(key);
        if (found == history.end()) {
            return std::string();
        }
        const auto& states = found->second;
        const auto after = states.upper_bound(snapshot);
        return after == states.begin() ? std::string() : std::prev(after)->second;
    };
    size_t reads = 0;
    for (const Log& log : logs) {
        for (const Seen& seen : log.reads) {
            ASSERT_EQ(seen.value, expected(seen.key, seen.snapshot))
                << seen.key << " at " << seen.snapshot;
            ++reads;
        }
    }
    sync::Slice slice(core->epochs);
    const uint64_t now = core->table.snapshot();
    for (const auto& [key, states] : history) {
        const std::optional<ValueRef> value = tree.pages().get(key, {now, 0});
        ASSERT_EQ(value ? std::string(value->bytes) : std::string(), states.rbegin()->second);
    }
    const TreeShape shape = checkTree(tree.pages());
    EXPECT_EQ(shape.error, "");
    EXPECT_GE(shape.levels, 3u);
    EXPECT_GT(reads, 0u);
}

INSTANTIATE_TEST_SUITE_P(Threads,
                         PageTreeThreads,
                         ::testing::Combine(::testing::Values(1, 2, 4, 16), ::testing::Bool()));

}  // namespace
}  // namespace freshet::engine
