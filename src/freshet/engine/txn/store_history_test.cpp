// SPDX-License-Identifier: Apache-2.0
/// Concurrent transactions over several keys are recorded and judged: no anomaly that snapshot
/// isolation forbids, and every commit is seen by all transactions that begin after it.
/// FRESHET_HISTORY_ROUNDS makes it longer. Clients that bypass the engine's rules must be found
/// out.
#include "freshet/engine/txn/store_test_support.h"
#include "freshet/platform/thread.h"
#include "freshet/sync/atomic.h"
#include "freshet/testing/sim/history.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <vector>

namespace freshet::engine {
namespace {

using sync::kRelaxed;
using testing::AnomalyKind;
using testing::checkHistory;
using testing::HistoryOp;
using testing::HistoryReport;
using testing::HistoryTxn;

/// What a client does instead of using its one transaction.
enum class Client {
    kHonest,
    kReadsElsewhere,   // every read has a snapshot of its own
    kWritesElsewhere,  // reads in one transaction, writes in another: no conflict is noticed
    kWritesAtOnce      // commits each write by itself, whether or not the transaction commits
};

struct Step {
    enum class Kind { kAppend, kGet, kScan };
    Kind kind;
    uint32_t key;
};

constexpr uint32_t kKeysAtATime = 6;
constexpr uint32_t kTxnsOfKeys = 300;  // then the next keys are used, so that lists stay short

std::string keyOf(uint32_t key) {
    std::string out;
    appendBe64(out, key);
    return out;
}

std::vector<uint32_t> listOf(ByteView bytes) {
    std::vector<uint32_t> out;
    for (size_t at = 0; at + 4 <= bytes.size(); at += 4) {
        out.push_back(loadLe<uint32_t>(bytes.data() + at));
    }
    return out;
}

class HistoryRun {
public:
    HistoryRun(Client client, int threads, int txns, uint64_t seed)
        : client_(client), threads_(threads), txns_(txns), seed_(seed) {}

    std::vector<HistoryTxn> run() {
        std::vector<std::vector<HistoryTxn>> parts(static_cast<size_t>(threads_));
        {
            std::vector<platform::Thread> running;
            for (int i = 0; i < threads_; ++i) {
                running.emplace_back("history", [this, i, &parts] {
                    work(static_cast<uint32_t>(i), &parts[static_cast<size_t>(i)]);
                });
            }
            for (int i = 0; i < 3; ++i) {
                EXPECT_TRUE(store_->checkpointNow().isOk());
            }
        }
        std::vector<HistoryTxn> all;
        for (const std::vector<HistoryTxn>& part : parts) {
            all.insert(all.end(), part.begin(), part.end());
        }
        all.push_back(lastLook());
        EXPECT_EQ(shapeOf(*store_, tree_).error, "");
        return all;
    }

private:
    using Random = std::mt19937_64;

    /// [clock.tick] seq_cst: one clock for all threads.
    uint64_t now() { return clock_.fetch_add(1, sync::kSeqCst); }

    void work(uint32_t self, std::vector<HistoryTxn>* out) {
        Random random(seed_ + self * 7919);
        uint32_t element = self * 1'000'000;
        for (int i = 0; i < txns_; ++i) {
            HistoryTxn record;
            record.begin = now();
            record.committed = attempt(random, &element, &record);
            record.end = now();
            out->push_back(std::move(record));
        }
    }

    std::vector<Step> stepsFrom(Random& random, bool inOrder) {
        const uint32_t first = begun_.fetch_add(1, kRelaxed) / kTxnsOfKeys * kKeysAtATime;
        std::vector<Step> steps(1 + random() % 5);
        for (Step& step : steps) {
            const uint64_t dice = random() % 10;
            step.kind = dice < 4   ? Step::Kind::kAppend
                        : dice < 8 ? Step::Kind::kGet
                                   : Step::Kind::kScan;
            step.key = first + static_cast<uint32_t>(random() % kKeysAtATime);
        }
        if (inOrder) {  // transactions that wait for each other must not form a circle
            std::sort(steps.begin(), steps.end(), [](const Step& a, const Step& b) {
                return a.key < b.key;
            });
        }
        return steps;
    }

    /// True when it was committed.
    bool attempt(Random& random, uint32_t* element, HistoryTxn* record) {
        const bool waits = random() % 2 == 0;
        const OnConflict rule = waits ? OnConflict::kWait : OnConflict::kFail;
        const std::vector<Step> steps = stepsFrom(random, waits);
        Txn txn(*store_, rule);
        std::optional<Txn> writer;
        for (const Step& step : steps) {
            if (random() % 3 == 0) {
                platform::yieldThread();
            }
            switch (step.kind) {
                case Step::Kind::kGet:
                    get(txn, step.key, record);
                    break;
                case Step::Kind::kScan:
                    scan(txn, step.key, record);
                    break;
                case Step::Kind::kAppend:
                    if (!append(txn, &writer, step.key, ++*element, record)) {
                        return false;
                    }
                    break;
            }
        }
        Txn& last = writer ? *writer : txn;
        return random() % 10 != 0 && commitAndWait(last).isOk();
    }

    std::vector<uint32_t> valueIn(Txn& txn, uint32_t key) {
        std::string value;
        const Status status = txn.get(*tree_, keyOf(key), &value);
        EXPECT_TRUE(status.isOk() || status.code() == Code::kNotFound);
        return listOf(value);
    }

    void get(Txn& txn, uint32_t key, HistoryTxn* record) {
        if (client_ == Client::kReadsElsewhere) {
            Txn other(*store_);
            record->ops.push_back(HistoryOp::read(key, valueIn(other, key)));
            return;
        }
        record->ops.push_back(HistoryOp::read(key, valueIn(txn, key)));
    }

    /// The three keys from `first` on, with a cursor, upwards or downwards.
    void scan(Txn& txn, uint32_t first, HistoryTxn* record) {
        constexpr uint32_t kKeys = 3;
        const bool up = first % 2 == 0;
        std::vector<std::vector<uint32_t>> seen(kKeys);
        Cursor cursor(txn, tree_);
        Status status = waiting(txn, [&] {
            return up ? cursor.seek(keyOf(first)) : cursor.seekBefore(keyOf(first + kKeys - 1));
        });
        while (status.isOk() && cursor.valid()) {
            const auto key = static_cast<uint32_t>(loadBe64(cursor.key().data()));
            if (key < first || key >= first + kKeys) {
                break;
            }
            seen[key - first] = listOf(cursor.value());
            status = waiting(txn, [&] { return up ? cursor.next() : cursor.prev(); });
        }
        EXPECT_TRUE(status.isOk());
        for (uint32_t i = 0; i < kKeys; ++i) {
            record->ops.push_back(HistoryOp::read(first + i, seen[i]));
        }
    }

    /// False: a conflict.
    bool append(Txn& txn,
                std::optional<Txn>* elsewhere,
                uint32_t key,
                uint32_t element,
                HistoryTxn* record) {
        get(txn, key, record);
        std::string value;
        for (uint32_t old : record->ops.back().seen) {
            appendLe(value, old);
        }
        appendLe(value, element);
        const bool goesAround =
            client_ == Client::kWritesElsewhere || client_ == Client::kWritesAtOnce;
        if (goesAround && !*elsewhere) {
            platform::yieldThread();
            elsewhere->emplace(*store_, OnConflict::kFail);
        }
        Txn& writer = goesAround ? **elsewhere : txn;
        if (!waiting(writer, [&] { return writer.put(*tree_, keyOf(key), value); }).isOk()) {
            return false;
        }
        record->ops.push_back(HistoryOp::append(key, element));
        if (client_ == Client::kWritesAtOnce) {
            EXPECT_TRUE(commitAndWait(writer).isOk());
            writer.begin();
        }
        return true;
    }

    /// Reads every key at the end: lost changes show here.
    HistoryTxn lastLook() {
        HistoryTxn record;
        record.begin = now();
        Txn txn(*store_);
        const uint32_t groups = begun_.load(kRelaxed) / kTxnsOfKeys + 1;
        for (uint32_t key = 0; key < groups * kKeysAtATime + 2; ++key) {
            record.ops.push_back(HistoryOp::read(key, valueIn(txn, key)));
        }
        record.end = now();
        return record;
    }

    const Client client_;
    const int threads_;
    const int txns_;
    const uint64_t seed_;
    testing::MemoryFileSystem disk_;
    const std::unique_ptr<Store> store_ = openStore(disk_);
    const TreeRef tree_ = store_->tree(2);
    sync::Atomic<uint64_t> clock_{0};
    /// Which keys are in use; relaxed: it does not matter when a thread moves on to the next ones.
    sync::Atomic<uint32_t> begun_{0};
};

int rounds() {
    const char* text = std::getenv("FRESHET_HISTORY_ROUNDS");
    return text == nullptr ? 1 : std::max(1, std::atoi(text));
}

class StoreHistories : public ::testing::TestWithParam<int> {};

TEST_P(StoreHistories, ShowSnapshotIsolation) {
    const uint64_t seed = testSeed();
    for (int round = 0; round < rounds(); ++round) {
        HistoryRun run(
            Client::kHonest, GetParam(), 20'000 / GetParam(), seed + static_cast<uint64_t>(round));
        const HistoryReport report = checkHistory(run.run());
        ASSERT_EQ(report.text(), "") << "round " << round;
    }
}

INSTANTIATE_TEST_SUITE_P(Threads, StoreHistories, ::testing::Values(2, 8, 64));

/// Otherwise the histories above would prove nothing: the threads did meet.
TEST(StoreHistory, HasTheOneAnomalyThatIsAllowed) {
    const uint64_t seed = testSeed();
    bool hasWriteSkew = false;
    constexpr int kRoundsMax = 50;
    for (int round = 0; round < kRoundsMax && !hasWriteSkew; ++round) {
        HistoryRun run(Client::kHonest, 8, 250, seed + static_cast<uint64_t>(round));
        hasWriteSkew = checkHistory(run.run()).hasWriteSkew;
    }
    EXPECT_TRUE(hasWriteSkew);
}

/// Those of the wanted anomalies that such a client's histories show.
std::vector<AnomalyKind> shown(Client client, const std::vector<AnomalyKind>& wanted) {
    std::vector<AnomalyKind> out;
    const uint64_t seed = testSeed();
    constexpr int kRoundsMax = 50;
    for (int round = 0; round < kRoundsMax && out.size() < wanted.size(); ++round) {
        HistoryRun run(client, 8, 250, seed + static_cast<uint64_t>(round));
        const HistoryReport report = checkHistory(run.run());
        for (AnomalyKind kind : wanted) {
            if (report.has(kind) && std::find(out.begin(), out.end(), kind) == out.end()) {
                out.push_back(kind);
            }
        }
    }
    std::sort(out.begin(), out.end());
    return out;
}

TEST(DishonestClients, AreFoundOut) {
    using enum AnomalyKind;
    for (const auto& [client, wanted] : std::vector<std::pair<Client, std::vector<AnomalyKind>>>{
             {Client::kReadsElsewhere, {kInternal, kReadSkew}},
             {Client::kWritesElsewhere, {kLostUpdate}},
             {Client::kWritesAtOnce, {kAbortedRead, kIntermediate}}}) {
        EXPECT_EQ(shown(client, wanted), wanted) << static_cast<int>(client);
    }
}

/// The benchmarks' control without a state between committed and durable: what others see is on
/// disk.
TEST(HeldCommits, AreDurableBeforeTheyAreSeen) {
    testing::MemoryFileSystem disk;
    StoreOptions options = storeOptions(disk);
    options.holdCommitsUntilDurable = true;
    options.journalCommitIntervalMs = 500;
    auto store = openStore(options);
    TreeRef tree = store->tree(2);
    put(*store, *tree, "a", "1");  // asks for no durability
    {
        Txn txn(*store);
        ASSERT_EQ(valueOf(txn, *tree, "a"), "1");
    }
    disk.crash();
    tree.reset();
    store.reset();
    store = openStore(options);
    tree = store->tree(2);
    Txn txn(*store);
    EXPECT_EQ(valueOf(txn, *tree, "a"), "1");
}

}  // namespace
}  // namespace freshet::engine
