// SPDX-License-Identifier: Apache-2.0
#include "freshet/platform/clock.h"
#include "freshet/platform/file.h"
#include "freshet/platform/folder_for_test.h"
#include "freshet/platform/limits.h"
#include "freshet/platform/thread.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>
#include <vector>

namespace freshet::platform {
namespace {

class PosixFiles : public ::testing::Test {
protected:
    void SetUp() override { ASSERT_TRUE(files_.makeDirectory(path("a/b")).isOk()); }

    std::string path(const std::string& name) const { return folder_.path(name); }

    FileSystem& files_ = FileSystem::posix();
    const FolderForTest folder_;
};

TEST_F(PosixFiles, WhatIsWrittenIsRead) {
    auto file = std::move(*files_.open(path("f"), OpenMode::kCreateNew));
    ASSERT_TRUE(file->pwrite("hello", 3).isOk());
    EXPECT_EQ(*file->size(), 8u);
    char out[16] = {};
    EXPECT_EQ(*file->pread(out, sizeof(out), 2), 6u);
    EXPECT_EQ(std::string_view(out, 6), std::string_view("\0hello", 6));
    EXPECT_EQ(*file->pread(out, sizeof(out), 8), 0u);
    ASSERT_TRUE(file->truncate(4).isOk());
    EXPECT_EQ(*file->size(), 4u);
    EXPECT_TRUE(file->sync().isOk());
    file->forget(0, 4);
}

TEST_F(PosixFiles, ZerosAreWrittenAndLaterWritesLieAmongThem) {
    constexpr size_t kBytes = (2u << 20) + 4096;  // more than one piece
    auto file = std::move(*files_.open(path("zeros"), OpenMode::kCreate));
    ASSERT_TRUE(file->pwrite(std::string(8192, 'x'), 0).isOk());
    ASSERT_TRUE(file->pwriteZeros(4096, kBytes).isOk());
    ASSERT_TRUE(file->pwrite("here", 5000).isOk());
    std::string expected = std::string(4096, 'x') + std::string(kBytes, '\0');
    expected.replace(5000, 4, "here");
    EXPECT_EQ(*file->size(), expected.size());
    std::string out(expected.size(), '?');
    EXPECT_EQ(*file->pread(out.data(), out.size(), 0), expected.size());
    EXPECT_TRUE(out == expected);
}

TEST_F(PosixFiles, AllocatedRoomReadsAsZerosAndTakesRoom) {
    constexpr uint64_t kBytes = (3u << 20) + 4096;
    auto file = std::move(*files_.open(path("room"), OpenMode::kCreate));
    ASSERT_TRUE(file->pwrite(std::string(16384, 'x'), 0).isOk());
    ASSERT_TRUE(file->allocate(8192, kBytes).isOk());  // also where data was
    struct stat status;
    ASSERT_EQ(::stat(path("room").c_str(), &status), 0);
    EXPECT_GE(static_cast<uint64_t>(status.st_blocks) * 512, kBytes);
    ASSERT_TRUE(file->bypassCacheFrom(64 * 1024));
    ASSERT_TRUE(file->pwrite(std::string(64 * 1024, 'd'), 1u << 20).isOk());
    std::string expected = std::string(8192, 'x') + std::string(kBytes, '\0');
    expected.replace(1u << 20, 64 * 1024, 64 * 1024, 'd');
    std::string out(expected.size(), '?');
    EXPECT_EQ(*file->pread(out.data(), out.size(), 0), expected.size());
    EXPECT_TRUE(out == expected);
}

TEST_F(PosixFiles, CacheIsBypassedByLargeTransfersBesideSmallOnes) {
    constexpr size_t kLarge = 64 * 1024;
    auto file = std::move(*files_.open(path("large"), OpenMode::kCreate));
    ASSERT_TRUE(file->pwrite(std::string(4 * kLarge, 'x'), 0).isOk());
    if (!file->bypassCacheFrom(kLarge)) {
        GTEST_SKIP() << "this file system has no direct transfers";
    }
    ASSERT_TRUE(file->pwrite(std::string(kLarge, 'a'), 0).isOk());
    ASSERT_TRUE(file->pwrite(std::string(4096, 'b'), kLarge).isOk());
    ASSERT_TRUE(file->pwrite("cc", kLarge + 4096).isOk());
    ASSERT_TRUE(file->pwrite(std::string(kLarge, 'd'), 2 * kLarge).isOk());
    ASSERT_TRUE(file->sync().isOk());
    std::string expected(4 * kLarge, 'x');
    expected.replace(0, kLarge, kLarge, 'a').replace(kLarge, 4096, 4096, 'b');
    expected.replace(kLarge + 4096, 2, "cc").replace(2 * kLarge, kLarge, kLarge, 'd');
    auto again = std::move(*files_.open(path("large"), OpenMode::kRead));
    for (File* reader : {file.get(), again.get()}) {
        std::string out(expected.size(), '?');
        EXPECT_EQ(*reader->pread(out.data(), out.size(), 0), expected.size());
        EXPECT_TRUE(out == expected);
    }
}

TEST_F(PosixFiles, CacheIsBypassedForWholeBlocksAndForNothingElse) {
    constexpr size_t kBytes = (1u << 20) + 3 * 4096;  // more than one piece
    auto file = std::move(*files_.open(path("direct"), OpenMode::kCreate));
    ASSERT_TRUE(file->pwrite(std::string(8192, 'x'), 0).isOk());
    if (!file->bypassCache()) {
        GTEST_SKIP() << "this file system has no direct transfers";
    }
    std::string expected = std::string(4096, 'x');
    for (size_t i = 0; i < kBytes; ++i) {
        expected.push_back(static_cast<char>('a' + i % 23));
    }
    ASSERT_TRUE(file->pwrite(expected.substr(4096), 4096).isOk());
    ASSERT_TRUE(file->pwrite("here", 5000).isOk());
    expected.replace(5000, 4, "here");
    std::string out(expected.size(), '?');
    EXPECT_EQ(*file->pread(out.data() + 1, out.size() - 1, 1), expected.size() - 1);
    EXPECT_EQ(*file->pread(out.data(), 4096, 0), 4096u);
    EXPECT_TRUE(out == expected);
    out.assign(expected.size(), '?');
    EXPECT_EQ(*file->pread(out.data(), out.size(), 0), expected.size());
    EXPECT_TRUE(out == expected);
    EXPECT_EQ(*file->pread(out.data(), 8192, kBytes), 4096u) << "the file ends there";
    EXPECT_EQ(*file->pread(out.data(), 4096, kBytes + 4096), 0u);
    EXPECT_TRUE(file->sync().isOk());
}

TEST_F(PosixFiles, OpenModesMeanWhatTheySay) {
    EXPECT_EQ(files_.open(path("f"), OpenMode::kRead).status().code(), Code::kNotFound);
    EXPECT_EQ(files_.open(path("f"), OpenMode::kWrite).status().code(), Code::kNotFound);
    EXPECT_EQ(files_.open(path("none/f"), OpenMode::kCreate).status().code(), Code::kNotFound);
    ASSERT_TRUE(files_.open(path("f"), OpenMode::kCreate).isOk());
    auto again = files_.open(path("f"), OpenMode::kCreateNew);
    EXPECT_EQ(again.status().code(), Code::kExists);
    EXPECT_NE(again.status().text().find(path("f")), std::string::npos);
    auto reader = std::move(*files_.open(path("f"), OpenMode::kRead));
    EXPECT_EQ(reader->pwrite("x", 0).code(), Code::kIo);
}

TEST_F(PosixFiles, DirectoriesListRenameAndRemove) {
    ASSERT_TRUE(files_.makeDirectory(path("a/b")).isOk());
    ASSERT_TRUE(files_.open(path("a/z"), OpenMode::kCreate).isOk());
    ASSERT_TRUE(files_.rename(path("a/z"), path("a/aa")).isOk());
    EXPECT_TRUE(files_.syncDirectory(path("a")).isOk());
    EXPECT_EQ(*files_.list(path("a")), (std::vector<std::string>{"aa", "b"}));
    EXPECT_TRUE(files_.remove(path("a/aa")).isOk());
    EXPECT_EQ(files_.remove(path("a/aa")).code(), Code::kNotFound);
    EXPECT_EQ(files_.list(path("none")).status().code(), Code::kNotFound);
    EXPECT_EQ(files_.syncDirectory(path("none")).code(), Code::kNotFound);
}

TEST_F(PosixFiles, ALockIsExclusiveAndNamesItsHolder) {
    auto first = files_.lock(path("lock"));
    ASSERT_TRUE(first.isOk());
    auto second = files_.lock(path("lock"));
    EXPECT_EQ(second.status().code(), Code::kUnavailable);
    EXPECT_NE(second.status().text().find(std::to_string(processId())), std::string::npos);
    first->reset();
    EXPECT_TRUE(files_.lock(path("lock")).isOk());
}

TEST(Clock, MonotonicTimePassesWhileAThreadSleeps) {
    uint64_t before = monotonicNanos();
    sleepMillis(2);
    EXPECT_GE(monotonicNanos() - before, 2'000'000u);
    EXPECT_GT(wallMillis(), int64_t{1'600'000'000'000});
}

TEST(Clock, SleepsUntilAMoment) {
    const uint64_t due = monotonicNanos() + 2'000'000u;
    sleepUntilNanos(due);
    EXPECT_GE(monotonicNanos(), due);
    sleepUntilNanos(due);  // already past: returns at once
}

TEST(Clock, AThreadsProcessorTimeIsItsOwn) {
    const uint64_t before = threadCpuNanos();
    Thread("busy", [] {
        for (const uint64_t own = threadCpuNanos(); threadCpuNanos() - own < 30'000'000u;) {
        }
    }).join();
    EXPECT_LT(threadCpuNanos() - before, 30'000'000u);
}

TEST(Clock, WaitingForAProcessorIsNotSleeping) {
    const uint64_t begin = monotonicNanos();
    const uint64_t before = threadRunDelayNanos();
    sleepMillis(30);
    const uint64_t waited = threadRunDelayNanos() - before;
    EXPECT_LE(waited + 29'000'000u, monotonicNanos() - begin);
    // More threads than processors, all busy: some of them wait.
    std::vector<Thread> threads;
    std::vector<uint64_t> delays(std::thread::hardware_concurrency() + 1);
    for (uint64_t& mine : delays) {
        threads.emplace_back("busy", [&mine] {
            for (const uint64_t own = threadCpuNanos(); threadCpuNanos() - own < 40'000'000u;) {
            }
            mine = threadRunDelayNanos();
        });
    }
    threads.clear();
    EXPECT_GT(*std::max_element(delays.begin(), delays.end()), 1'000'000u);
}

TEST(Threads, RunAndAreJoinedByTheirDestructor) {
    bool ran = false;
    {
        Thread thread("a name of more than 15 characters", [&ran] { ran = true; });
    }
    EXPECT_TRUE(ran);
    Thread moved("one", [] {});
    moved = Thread("two", [&ran] { ran = false; });
    moved.join();
    EXPECT_FALSE(ran);
    EXPECT_FALSE(moved.joinable());
}

TEST(Process, TheSystemTellsAboutUs) {
    const unsigned cores = coreCount();
    EXPECT_GE(cores, 1u);
    Thread pinned("pinned", [cores] {
        pinToCore(0);
        EXPECT_EQ(cores, coreCount());
    });
    pinned.join();
    EXPECT_GT(processId(), 0);
    EXPECT_FALSE(hostName().empty());
    EXPECT_GT(residentBytes(), 0u);
    EXPECT_GT(virtualBytes(), residentBytes());
    EXPECT_GT(machineMemoryBytes(), residentBytes());
    EXPECT_NE(randomSeed(), randomSeed());
}

}  // namespace
}  // namespace freshet::platform
