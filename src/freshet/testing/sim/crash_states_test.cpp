// SPDX-License-Identifier: Apache-2.0
/// The enumeration on programs whose faults are known: it must find each fault, and no other.
#include "freshet/testing/sim/crash_states.h"

#include "freshet/testing/sim/seed.h"

#include <gtest/gtest.h>

#include <set>

namespace freshet::testing {
namespace {

using platform::OpenMode;

/// Replaces /d/f by a second file; the steps that make it safe can be left out.
struct Replacing {
    bool syncBytes = true;
    bool syncNames = true;
};

std::string contentOf(MemoryFileSystem& disk, const std::string& path) {
    auto file = disk.open(path, OpenMode::kRead);
    if (!file.isOk()) {
        return "-";
    }
    std::string bytes(*(*file)->size(), '\0');
    invariant((*file)->pread(bytes.data(), bytes.size(), 0).isOk());
    return bytes;
}

std::string version(int i) {
    return std::string(2000, static_cast<char>('a' + i));
}

/// Runs it for a few versions; then, in every state, the newest completed version or a later one
/// must exist, whole.
Status runReplacing(const Replacing& replacing, CrashStatesCount* count) {
    MemoryFileSystem memory;
    TraceRecorder disk(memory);
    std::vector<size_t> doneAt;
    invariant(disk.makeDirectory("/d").isOk());
    for (int i = 0; i < 4; ++i) {
        auto file = std::move(*disk.open("/d/f.new", OpenMode::kCreate));
        invariant(file->pwrite(version(i), 0).isOk());
        invariant(!replacing.syncBytes || file->sync().isOk());
        invariant(disk.rename("/d/f.new", "/d/f").isOk());
        invariant(!replacing.syncNames || disk.syncDirectory("/d").isOk());
        doneAt.push_back(disk.position());
    }
    return forEachCrashState(
        disk.trace(),
        {.seed = testSeed()},
        [&](MemoryFileSystem& crashed, const CrashState& state) {
            std::set<std::string> allowed;
            for (int i = -1; i < 4; ++i) {
                bool laterIsDone = i < 3 && state.prefix >= doneAt[static_cast<size_t>(i + 1)];
                if (!laterIsDone) {
                    allowed.insert(i < 0 ? "-" : version(i));
                }
            }
            return allowed.contains(contentOf(crashed, "/d/f"))
                       ? Status::ok()
                       : Status(Code::kCorruption, contentOf(crashed, "/d/f").substr(0, 5));
        },
        count);
}

TEST(CrashStates, ASafeReplacementIsSafeInEveryState) {
    CrashStatesCount count;
    Status status = runReplacing({}, &count);
    EXPECT_TRUE(status.isOk()) << status.toString();
    EXPECT_GE(count.prefixes, 20u);
    EXPECT_GT(count.states, 2 * count.prefixes);
    EXPECT_GT(count.torn, 0u);
}

TEST(CrashStates, AMissingSyncIsFound) {
    CrashStatesCount count;
    Status bytes = runReplacing({.syncBytes = false}, &count);
    EXPECT_EQ(bytes.code(), Code::kCorruption);
    EXPECT_NE(bytes.text().find("crash state"), std::string::npos) << bytes.toString();
    EXPECT_NE(bytes.text().find("FRESHET_SEED="), std::string::npos);
    EXPECT_EQ(runReplacing({.syncNames = false}, &count).code(), Code::kCorruption);
}

/// The states of a trace at its last prefix: the content of "f" in each.
std::set<std::string> statesAtTheEnd(const Trace& trace) {
    std::set<std::string> seen;
    for (uint64_t seed = 0; seed < 16; ++seed) {
        Status status = forEachCrashState(trace,
                                          {.seed = seed, .from = trace.size()},
                                          [&](MemoryFileSystem& disk, const CrashState&) {
                                              seen.insert(contentOf(disk, "/f"));
                                              return Status::ok();
                                          });
        invariant(status.isOk());
    }
    return seen;
}

TEST(CrashStates, UnsyncedWritesComeInAnyCombinationAndTorn) {
    MemoryFileSystem memory;
    TraceRecorder disk(memory);
    auto file = std::move(*disk.open("/f", OpenMode::kCreate));
    ASSERT_TRUE(file->pwrite("......", 0).isOk());
    ASSERT_TRUE(file->sync().isOk());
    ASSERT_TRUE(disk.syncDirectory("/").isOk());
    ASSERT_TRUE(file->pwrite("1", 0).isOk());
    ASSERT_TRUE(file->pwrite("2", 2).isOk());
    ASSERT_TRUE(file->truncate(4).isOk());
    EXPECT_EQ(statesAtTheEnd(disk.trace()),
              (std::set<std::string>{
                  "......", "1.....", "..2...", "1.2...", "....", "1...", "..2.", "1.2."}));

    ASSERT_TRUE(file->sync().isOk());
    ASSERT_TRUE(file->pwrite(std::string(1024, 'n'), 0).isOk());
    EXPECT_EQ(statesAtTheEnd(disk.trace()),
              (std::set<std::string>{"1.2.",
                                     std::string(512, 'n'),
                                     "1.2." + std::string(508, '\0') + std::string(512, 'n'),
                                     std::string(1024, 'n')}));
}

TEST(CrashStates, ASyncCoversItsOwnFileAndDirectoryOnly) {
    MemoryFileSystem memory;
    TraceRecorder disk(memory);
    ASSERT_TRUE(disk.makeDirectory("/d").isOk());
    auto f = std::move(*disk.open("/f", OpenMode::kCreate));
    auto g = std::move(*disk.open("/d/g", OpenMode::kCreate));
    ASSERT_TRUE(f->pwrite("f", 0).isOk());
    ASSERT_TRUE(g->pwrite("g", 0).isOk());
    ASSERT_TRUE(g->sync().isOk());
    ASSERT_TRUE(disk.syncDirectory("/").isOk());
    std::set<std::string> seen;
    ASSERT_TRUE(forEachCrashState(disk.trace(),
                                  {.from = disk.position()},
                                  [&](MemoryFileSystem& crashed, const CrashState&) {
                                      seen.insert(contentOf(crashed, "/f") +
                                                  contentOf(crashed, "/d/g"));
                                      return Status::ok();
                                  })
                    .isOk());
    EXPECT_EQ(seen, (std::set<std::string>{"-", "f-", "g", "fg"}));
}

TEST(CrashStates, LongTracesAreSampledEvenly) {
    MemoryFileSystem memory;
    TraceRecorder disk(memory);
    auto file = std::move(*disk.open("/f", OpenMode::kCreate));
    for (int i = 0; i < 1000; ++i) {
        ASSERT_TRUE(file->pwrite("x", static_cast<uint64_t>(i) * 10).isOk());
        ASSERT_TRUE(file->sync().isOk());
    }
    CrashStatesCount count;
    size_t last = 0;
    size_t widest = 0;
    ASSERT_TRUE(forEachCrashState(
                    disk.trace(),
                    {.statesMax = 400},
                    [&](MemoryFileSystem&, const CrashState& state) {
                        widest = std::max(widest, state.prefix - last);
                        last = state.prefix;
                        return Status::ok();
                    },
                    &count)
                    .isOk());
    EXPECT_LE(count.states, 500u);
    EXPECT_EQ(count.prefixes, 400u / 9);
    EXPECT_LE(widest, 50u);
}

}  // namespace
}  // namespace freshet::testing
