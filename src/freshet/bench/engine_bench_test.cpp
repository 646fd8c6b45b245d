// SPDX-License-Identifier: Apache-2.0
/// Tests the engine benchmark: do the adapters store what they are given, and does a line report
/// what was asked for?
#include "freshet/bench/engine_bench.h"

#include "freshet/bench/engines/disk_calls.h"
#include "freshet/bench/engines/engine.h"
#include "freshet/bench/lines_bench.h"
#include "freshet/bench/processes.h"
#include "freshet/bench/workload/host_watch.h"
#include "freshet/bench/workload/keys.h"
#include "freshet/bench/workload/workload.h"
#include "freshet/platform/clock.h"
#include "freshet/platform/file.h"
#include "freshet/platform/thread.h"
#include "freshet/testing/sim/seed.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <map>
#include <set>

namespace freshet::bench {
namespace {

using Oracle = std::map<std::string, std::string>;

struct Given {
    const EngineKind* kind;
    LogLevel level;
};

bool isHere(const EngineKind& kind) {
    return kind.open != nullptr && kind.otherProgram().empty();
}

/// Every engine of this build at every level that it supports.
std::vector<Given> allGiven() {
    std::vector<Given> all;
    for (const EngineKind& kind : engineKinds()) {
        for (LogLevel level :
             {LogLevel::kNone, LogLevel::kNoSync, LogLevel::kWrite, LogLevel::kSync}) {
            if (isHere(kind) && kind.levelFor(level) == level) {
                all.push_back({&kind, level});
            }
        }
    }
    return all;
}

/// Used in a test's name.
std::string wordOf(std::string_view engine) {
    std::string word(engine);
    std::replace(word.begin(), word.end(), '-', '_');
    return word;
}

class EngineAdapter : public ::testing::TestWithParam<Given> {
protected:
    void SetUp() override {
        folder_ = std::move(TemporaryFolder::make("")).value();
        EngineSetup setup;
        setup.directory = folder_->path();
        setup.durability = GetParam().level;
        setup.cacheMb = 64;
        setup.threads = 8;
        auto engine = GetParam().kind->open(setup);
        ASSERT_TRUE(engine.isOk()) << engine.status().toString();
        engine_ = std::move(engine).value();
    }
    std::unique_ptr<EngineSession> session() { return std::move(engine_->session()).value(); }
    static Oracle contentOf(EngineSession& session) {
        Oracle found;
        std::string last;
        const Status status = session.scan([&](ByteView key, ByteView value) {
            EXPECT_TRUE(found.empty() || last < key) << "not in key order";
            last = key;
            found.emplace(key, value);
        });
        EXPECT_TRUE(status.isOk()) << status.toString();
        return found;
    }

    std::unique_ptr<TemporaryFolder> folder_;
    std::unique_ptr<Engine> engine_;
};

TEST_P(EngineAdapter, AgreesWithAMap) {
    Random random(freshet::testing::testSeed());
    constexpr uint64_t kLoaded = 300;
    Oracle oracle;
    KeyMaker keys(false);
    ValueMaker values(200, 1);
    const Status loaded = engine_->fill(kLoaded, [&](uint64_t i, ByteView* key, ByteView* value) {
        *key = keys.key(i);
        *value = values.next();
        oracle[std::string(*key)] = *value;
    });
    ASSERT_TRUE(loaded.isOk()) << loaded.toString();
    auto session = this->session();
    EXPECT_EQ(contentOf(*session), oracle);
    for (int i = 0; i < 400; ++i) {
        const std::string key(keys.key(random.below(2 * kLoaded)));
        if (random.below(2) == 0) {
            const ByteView value = values.next().substr(random.below(199));
            ASSERT_TRUE(session->write(key, value).isOk());
            oracle[key] = value;
        }
        std::string found;
        ValueTaker taker(&found);
        const Status status = session->read(key, &taker);
        ASSERT_EQ(status.isOk(), oracle.contains(key)) << status.toString();
        if (status.isOk()) {
            EXPECT_EQ(found, oracle[key]);
        } else {
            EXPECT_EQ(status.code(), Code::kNotFound);
        }
    }
    EXPECT_EQ(contentOf(*session), oracle);
    EXPECT_TRUE(engine_->checkpoint().isOk());
    EXPECT_EQ(contentOf(*session), oracle);
}

TEST_P(EngineAdapter, RecordIdsAscendOverAllThreads) {
    constexpr unsigned kThreads = 4;
    constexpr unsigned kEach = 50;
    std::vector<platform::Thread> threads;
    for (unsigned i = 0; i < kThreads; ++i) {
        threads.emplace_back("appender", [this, i] {
            auto own = session();
            for (unsigned n = 0; n < kEach; ++n) {
                EXPECT_TRUE(own->append(std::to_string(i)).isOk());
            }
        });
    }
    threads.clear();
    auto session = this->session();
    const Oracle content = contentOf(*session);
    EXPECT_EQ(content.size(), kThreads * kEach);
    ASSERT_FALSE(content.empty());
    EXPECT_EQ(loadBe64(content.begin()->first.data()), 1u);
    EXPECT_EQ(loadBe64(content.rbegin()->first.data()), kThreads * kEach);
}

TEST_P(EngineAdapter, WritesAreFlushedAtTheSyncLevelOnly) {
    constexpr unsigned kWrites = 100;
    auto session = this->session();
    const uint64_t before = flushCount();
    for (unsigned i = 0; i < kWrites; ++i) {
        ASSERT_TRUE(session->write("key", "value").isOk());
    }
    // The engines' background work may flush now and then.
    const uint64_t flushed = flushCount() - before;
    EXPECT_EQ(flushed >= kWrites, GetParam().level == LogLevel::kSync) << flushed;
}

INSTANTIATE_TEST_SUITE_P(
    All, EngineAdapter, ::testing::ValuesIn(allGiven()), [](const auto& given) {
        return wordOf(given.param.kind->name) + "_" + std::string(logLevelName(given.param.level));
    });

EngineOptions parsed(const std::vector<std::string>& arguments) {
    auto options = parseEngineOptions(arguments);
    EXPECT_TRUE(options.isOk()) << options.status().toString();
    return options.isOk() ? *options : EngineOptions();
}

TEST(EngineOptions, AreRead) {
    const EngineOptions options = parsed(
        {"--workload", "spill",      "--engines",       "freshet,map", "--threads",    "3",
         "--records",  "7",          "--value-bytes",   "9",           "--durability", "write",
         "--cache-mb", "11",         "--write-percent", "13",          "--seconds",    "17",
         "--reps",     "19",         "--rate",          "23",          "--touch-mb",   "29",
         "--data-dir", "/somewhere", "--json"});
    EXPECT_EQ(options.workload, Workload::kSpill);
    EXPECT_EQ(options.engines, (std::vector<std::string>{"freshet", "map"}));
    EXPECT_EQ(options.durability, LogLevel::kWrite);
    EXPECT_EQ(options.threads, 3u);
    EXPECT_EQ(options.records, 7u);
    EXPECT_EQ(options.valueBytes, 9u);
    EXPECT_EQ(options.cacheMb, 11u);
    EXPECT_EQ(options.writePercent, 13u);
    EXPECT_EQ(options.windowMillis, 17'000u);
    EXPECT_EQ(options.reps, 19u);
    EXPECT_EQ(options.rate, 23u);
    EXPECT_EQ(options.touchMb, 29u);
    EXPECT_EQ(options.dataDir, "/somewhere");
    EXPECT_TRUE(options.json);
}

TEST(EngineOptions, AnotherProgramIsGivenTheSame) {
    const std::vector<std::string> given = {
        "--workload",    "mixed",      "--engines",       "freshet-hazard,map",
        "--threads",     "3",          "--records",       "7",
        "--value-bytes", "9",          "--durability",    "write",
        "--cache-mb",    "11",         "--write-percent", "13",
        "--seconds",     "17",         "--reps",          "19",
        "--rate",        "23",         "--touch-mb",      "29",
        "--data-dir",    "/somewhere", "--json"};
    EXPECT_EQ(argumentsOf(parsed(given)), given);
}

TEST(EngineBench, VariantsOfPagesArePrograms) {
    EXPECT_EQ((*engineKind("freshet"))->otherProgram(), "");
    EXPECT_EQ((*engineKind("map"))->otherProgram(), "");
    EXPECT_EQ((*engineKind("freshet-rwlock"))->otherProgram(), "freshet-bench-rwlock");
    EXPECT_EQ((*engineKind("freshet-hazard"))->otherProgram(), "freshet-bench-hazard");
    const Status absent = outputOf({"/nowhere/freshet-bench"}).status();
    EXPECT_EQ(absent.code(), Code::kIo);
    EXPECT_EQ(*outputOf({"/bin/echo", "a", "b"}), "a b\n");
}

TEST(EngineOptions, MistakesAreNamed) {
    for (const std::vector<std::string>& wrong :
         std::vector<std::vector<std::string>>{{"--workload", "scan"},
                                               {"--threads", "0"},
                                               {"--durability", "maybe"},
                                               {"--write-percent", "101"},
                                               {"--reps"}}) {
        auto options = parseEngineOptions(wrong);
        ASSERT_FALSE(options.isOk()) << wrong[0];
        EXPECT_NE(options.status().text().find(wrong[0]), std::string_view::npos);
    }
}

TEST(EngineBench, WhatCannotRunIsRefusedBeforehand) {
    const Status none = runEngineBench(parsed({"--engines", "map,nosuch"}));
    EXPECT_EQ(none.code(), Code::kInvalid);
    EXPECT_NE(none.text().find("nosuch"), std::string_view::npos);
    const Status spill =
        runEngineBench(parsed({"--engines", "lmdb", "--workload", "spill", "--records", "1"}));
    EXPECT_EQ(spill.code(), Code::kUnsupported);
    EXPECT_NE(spill.text().find("no other way"), std::string_view::npos);
}

/// Returns the JSON's keys in order: quoted words before colons.
std::vector<std::string> fieldsOf(const std::string& line) {
    std::vector<std::string> fields;
    for (size_t at = 0; (at = line.find('"', at)) != std::string::npos;) {
        const size_t end = line.find('"', at + 1);
        if (line.compare(end + 1, 1, ":") == 0) {
            fields.push_back(line.substr(at + 1, end - at - 1));
        }
        at = end + 1;
    }
    return fields;
}

TEST(EngineBench, ALineHasTheFieldsThatWereAgreedOn) {
    EngineOptions options = parsed({"--workload", "mixed", "--json"});
    EngineResult result;
    result.workload = "mixed";
    result.seconds = 2;
    result.reads = 100;
    result.readCpuNanos = 150'000;
    result.cpuMicros = 200;
    const std::string line = lineOf(options, "freshet", LogLevel::kWrite, result);
    EXPECT_EQ(fieldsOf(line),
              (std::vector<std::string>{"engine",
                                        "workload",
                                        "threads",
                                        "value_bytes",
                                        "durability",
                                        "write_percent",
                                        "ops_per_s",
                                        "reads_per_s",
                                        "writes_per_s",
                                        "cpu_us_per_op",
                                        "cpu_us_per_read",
                                        "cpu_us_per_write",
                                        "p50_us",
                                        "p99_us",
                                        "p999_us",
                                        "max_us",
                                        "flushes",
                                        "rss_mb"}));
    for (const char* part : {R"("ops_per_s": 50,)",
                             R"("cpu_us_per_op": 2.000,)",
                             R"("cpu_us_per_read": 1.500,)",
                             R"("cpu_us_per_write": null,)",
                             R"("durability": "write")"}) {
        EXPECT_NE(line.find(part), std::string::npos) << part << " in " << line;
    }
}

TEST(EngineBench, StallsAreInTheLinesOfJitterOnly) {
    EngineOptions options = parsed({"--workload", "jitter", "--json"});
    EngineResult result;
    result.seconds = 1;
    EXPECT_EQ(fieldsOf(lineOf(options, "map", LogLevel::kNone, result)).back(), "rss_mb");
    result.stalls = 7;
    result.diskStalls = 5;
    result.hostStalls = 1;
    const std::string line = lineOf(options, "map", LogLevel::kNone, result);
    EXPECT_TRUE(line.ends_with(R"(, "stalls": 7, "disk_stalls": 5, "host_stalls": 1})")) << line;
    options.json = false;
    EXPECT_TRUE(lineOf(options, "map", LogLevel::kNone, result)
                    .ends_with("  7 stalls, 5 by the disk, 1 by the host"));
}

struct Ran {
    const EngineKind* kind;
    Workload workload;
};

/// Every engine of this build with every workload that it supports.
std::vector<Ran> allRan() {
    std::vector<Ran> all;
    for (const EngineKind& kind : engineKinds()) {
        for (Workload workload : kAllWorkloads) {
            if (isHere(kind) && kind.refusal(workload).empty()) {
                all.push_back({&kind, workload});
            }
        }
    }
    return all;
}

class EngineWorkload : public ::testing::TestWithParam<Ran> {};

TEST_P(EngineWorkload, CountsWhatItDid) {
    const Workload workload = GetParam().workload;
    EngineOptions options;
    options.workload = workload;
    options.threads = 4;
    options.records = 300;
    options.rate = 8'000;
    options.windowMillis = 50;
    auto folder = std::move(TemporaryFolder::make("")).value();
    EngineSetup setup;
    setup.directory = folder->path();
    setup.cacheMb = 64;
    setup.threads = options.threads;
    setup.directIo = workload == Workload::kSpill || workload == Workload::kBeside;
    setup.checkpointsByHand = workload == Workload::kJitter;
    setup.durability = GetParam().kind->levelFor(LogLevel::kNoSync);
    auto engine = std::move(GetParam().kind->open(setup)).value();
    auto results = runWorkload(options, engine.get());
    ASSERT_TRUE(results.isOk()) << results.status().toString();
    const bool takesTurns = workload == Workload::kJitter || workload == Workload::kBeside;
    ASSERT_EQ(results->size(), takesTurns ? 2u : 1u);
    for (const EngineResult& result : *results) {
        const bool insertsOnly = workload == Workload::kAppend || workload == Workload::kJournal;
        EXPECT_GT(result.reads + result.writes, 0u);
        EXPECT_TRUE(result.reads == 0 || !insertsOnly);
        EXPECT_TRUE(result.writes == 0 || workload != Workload::kRead);
        EXPECT_GT(result.latencies.total(), 0u);
        EXPECT_LE(result.latencies.total(), result.reads + result.writes);
        EXPECT_GT(result.cpuMicros, 0u);
        EXPECT_GT(result.residentBytes, 0u);
    }
}

INSTANTIATE_TEST_SUITE_P(All, EngineWorkload, ::testing::ValuesIn(allRan()), [](const auto& given) {
    return wordOf(given.param.kind->name) + "_" + std::string(workloadName(given.param.workload));
});

TEST(EngineBench, WritersBesideReadersTakeTheirShareOfAProcessorAndNotMore) {
    EngineOptions options;
    options.workload = Workload::kBeside;
    options.threads = 4;
    options.records = 300;
    options.windowMillis = 800;
    auto engine = std::move(openMap({})).value();
    const auto results = runWorkload(options, engine.get());
    ASSERT_TRUE(results.isOk()) << results.status().toString();
    for (const EngineResult& result : *results) {
        EXPECT_GT(result.reads, 0u) << result.workload;
        EXPECT_GT(result.writes, 0u) << result.workload;
        EXPECT_GT(result.latencies.total(), result.reads / 16) << result.workload;
        EXPECT_LT(result.latencies.total(), result.reads) << "of the reads only, one in eight";
        // Two writers at 15 % each; a writer that never sleeps uses a whole processor.
        EXPECT_LT(static_cast<double>(*result.writeCpuNanos) / 1e9, result.seconds * 0.45);
        EXPECT_GT(*result.readCpuNanos, 0u);
    }
}

TEST(EngineBench, BesideNeedsThreeKindsOfRecords) {
    EngineOptions options;
    options.workload = Workload::kBeside;
    options.records = 2;
    auto engine = std::move(openMap({})).value();
    EXPECT_EQ(runWorkload(options, engine.get()).status().code(), Code::kInvalid);
}

/// A map's session that runs `act` before, or instead of, every n-th write.
class Odd final : public EngineSession {
public:
    struct Habit {
        int every;
        std::function<bool()> act;  // returns whether the write is still to be done
    };
    Odd(Engine* engine, std::unique_ptr<EngineSession> real, Habit habit)
        : EngineSession(engine), real_(std::move(real)), habit_(std::move(habit)) {}
    Status read(ByteView key, ValueTaker* taker) override { return real_->read(key, taker); }
    Status write(ByteView key, ByteView value) override {
        const bool isDone = ++writes_ % habit_.every == 0 && !habit_.act();
        return isDone ? Status::ok() : real_->write(key, value);
    }
    Status scan(const EachPair& each) override { return real_->scan(each); }

private:
    const std::unique_ptr<EngineSession> real_;
    const Habit habit_;
    int writes_ = 0;
};

class OddEngine final : public Engine {
public:
    explicit OddEngine(Odd::Habit habit) : habit_(std::move(habit)) {}
    StatusOr<std::unique_ptr<EngineSession>> session() override {
        return std::unique_ptr<EngineSession>(
            std::make_unique<Odd>(this, std::move(map_->session()).value(), habit_));
    }
    Status fill(uint64_t count, const PairAt& pair) override { return map_->fill(count, pair); }
    Status checkpoint() override { return Status::ok(); }

private:
    const std::unique_ptr<Engine> map_ = std::move(openMap({})).value();
    const Odd::Habit habit_;
};

TEST(EngineBench, AnEngineThatLosesRecordsEndsTheRun) {
    OddEngine engine({100, [] { return false; }});
    EngineOptions options;
    options.workload = Workload::kJournal;
    options.threads = 1;
    options.windowMillis = 20;
    const auto results = runWorkload(options, &engine);
    EXPECT_EQ(results.status().code(), Code::kCorruption);
}

struct Stalls {
    uint64_t all = 0;
    uint64_t byDisk = 0;
    uint64_t byHost = 0;
};

/// Runs jitter and returns its stalls in both kinds of windows. One write in twenty runs `act`.
Stalls stallsWith(std::function<bool()> act) {
    OddEngine engine({20, std::move(act)});
    EngineOptions options;
    options.workload = Workload::kJitter;
    options.threads = 2;
    options.records = 300;
    options.writePercent = 100;
    options.rate = 1'000;
    options.windowMillis = 400;
    const auto results = runWorkload(options, &engine);
    EXPECT_TRUE(results.isOk()) << results.status().toString();
    Stalls stalls;
    for (const EngineResult& result : results.isOk() ? *results : std::vector<EngineResult>()) {
        EXPECT_TRUE(result.stalls.has_value());
        stalls.all += result.stalls.value_or(0);
        stalls.byDisk += result.diskStalls.value_or(0);
        stalls.byHost += result.hostStalls.value_or(0);
    }
    return stalls;
}

TEST(EngineBench, WaitingInTheEngineIsAStallAndWorkIsNone) {
    const Stalls waits = stallsWith([] {
        platform::sleepMillis(12);
        return true;
    });
    EXPECT_GT(waits.all, waits.byHost);
    EXPECT_EQ(waits.byDisk, 0u);
    sync::Atomic<uint64_t> busy{0};
    const Stalls works = stallsWith([&busy] {
        // [busy.count] relaxed: read after the threads have ended.
        busy.fetch_add(1, sync::kRelaxed);
        for (const uint64_t own = platform::threadCpuNanos();
             platform::threadCpuNanos() - own < 8'000'000u;) {
        }
        return true;
    });
    // A host that holds a processor is told apart, but not always.
    // [busy.count] relaxed: as above
    EXPECT_LE(works.all - works.byHost, busy.load(sync::kRelaxed) / 4);
    EXPECT_GT(busy.load(sync::kRelaxed), 0u);  // [busy.count] relaxed: as above
}

/// Waits like a call that does not return.
bool waitForCall(SlowCalls::Caller caller) {
    const uint64_t begin = platform::monotonicNanos();
    platform::sleepMillis(12);
    slowCalls().add(caller, begin, platform::monotonicNanos());
    return true;
}

TEST(EngineBench, AStallBesideASlowCallIsTheDisksUnlessACheckpointFlushes) {
    const Stalls log = stallsWith([] { return waitForCall(SlowCalls::Caller::kOthers); });
    EXPECT_GT(log.byDisk, log.all / 2);  // the host caused the rest
    const Stalls both = stallsWith([] {
        return waitForCall(SlowCalls::Caller::kCheckpoint) &&
               waitForCall(SlowCalls::Caller::kOthers);
    });
    EXPECT_GT(both.all, 0u);
    EXPECT_LT(both.byDisk, both.all / 2);  // the other thread's call may have met no flush
}

TEST(EngineBench, AStallWhileTheHostHeldAProcessorIsTheHosts) {
    const Stalls held = stallsWith([] {
        const uint64_t begin = platform::monotonicNanos();
        const bool waited = waitForCall(SlowCalls::Caller::kOthers);
        hostStops().add(begin, platform::monotonicNanos());
        return waited;
    });
    EXPECT_GT(held.byHost, held.all / 2);
    EXPECT_LE(held.byHost + held.byDisk, held.all);
}

/// Stops this process's threads for a while, as a host would stop its guest's processors.
TEST(HostWatch, NotesWhenNoThreadRan) {
    constexpr uint64_t kStoppedMillis = 60;
    const uint64_t begin = platform::monotonicNanos();
    {
        const HostWatch watch;
        watch.awaitNoted();  // every watching thread runs
        const pid_t self = ::getpid();
        const pid_t child = ::fork();
        if (child == 0) {
            ::kill(self, SIGSTOP);
            ::usleep(kStoppedMillis * 1'000);
            ::kill(self, SIGCONT);
            ::_exit(0);
        }
        ::waitpid(child, nullptr, 0);
        watch.awaitNoted();
    }
    const Spans stops = hostStops().within(begin, platform::monotonicNanos());
    EXPECT_GE(stops.nanos(), (kStoppedMillis - 10) * 1'000'000);
}

TEST(SlowCalls, TheirTimeIsCountedOnce) {
    constexpr auto kOthers = SlowCalls::Caller::kOthers;
    SlowCalls calls;
    EXPECT_EQ(calls.within(0, 100).nanos(), 0u);
    calls.add(kOthers, 10, 20);
    calls.add(kOthers, 30, 50);
    calls.add(kOthers, 35, 60);  // another thread's call at the same time
    EXPECT_EQ(calls.within(0, 100).nanos(), 40u);
    EXPECT_EQ(calls.within(15, 40).nanos(), 15u);
    EXPECT_EQ(calls.within(20, 30).nanos(), 0u);
    EXPECT_EQ(calls.within(60, 100).nanos(), 0u);
}

TEST(SlowCalls, NoneIsTheDisksBesideACheckpointsFlush) {
    SlowCalls calls;
    calls.add(SlowCalls::Caller::kOthers, 10, 90);
    calls.add(SlowCalls::Caller::kCheckpoint, 70, 80);
    EXPECT_EQ(calls.within(0, 75).nanos(), 0u);
    EXPECT_EQ(calls.within(0, 70).nanos(), 60u);
    EXPECT_EQ(calls.within(80, 100).nanos(), 10u);
}

TEST(Keys, AreDifferentAndLookRandom) {
    KeyMaker keys(false);
    std::set<std::string> seen;
    for (uint64_t i = 0; i < 10'000; ++i) {
        EXPECT_TRUE(seen.insert(std::string(keys.key(i))).second);
    }
    std::set<char> firstBytes;
    for (const std::string& key : seen) {
        firstBytes.insert(key[0]);
    }
    EXPECT_EQ(firstBytes.size(), 256u);
}

TEST(Processes, AChildsResultComesBackAndItsCrashIsAFailure) {
    const std::string large(1 << 20, 'x');
    auto result = runInChild([&]() -> StatusOr<std::string> { return large; }, 60);
    ASSERT_TRUE(result.isOk()) << result.status().toString();
    EXPECT_EQ(*result, large);
    auto failed =
        runInChild([]() -> StatusOr<std::string> { return Status(Code::kIo, "no such luck"); }, 60);
    EXPECT_NE(failed.status().text().find("no such luck"), std::string_view::npos);
    auto crashed = runInChild(
        []() -> StatusOr<std::string> {
            ::kill(::getpid(), SIGKILL);
            return std::string();
        },
        60);
    EXPECT_FALSE(crashed.isOk());
}

TEST(Processes, FlushesAreCountedWhicheverLibraryAsks) {
    auto folder = std::move(TemporaryFolder::make("")).value();
    auto file = std::move(platform::FileSystem::posix().open(folder->path() + "/file",
                                                             platform::OpenMode::kCreate))
                    .value();
    const uint64_t before = flushCount();
    EXPECT_TRUE(file->sync().isOk());
    EXPECT_EQ(flushCount() - before, 1u);
}

TEST(Lines, CostMoreWhereTwoChangeThem) {
    auto costs = measureLines(100'000);
    if (platform::coreCount() < 2) {
        EXPECT_FALSE(costs.isOk());
        return;
    }
    ASSERT_TRUE(costs.isOk()) << costs.status().toString();
    EXPECT_GT(costs->own, 0);
    EXPECT_GT(costs->contended, 0);
    EXPECT_GT(costs->transfer, costs->own) << "the other one's change has to be seen first";
}

}  // namespace
}  // namespace freshet::bench
