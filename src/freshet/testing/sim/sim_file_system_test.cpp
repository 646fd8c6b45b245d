// SPDX-License-Identifier: Apache-2.0
#include "freshet/testing/sim/sim_file_system.h"

#include "freshet/platform/folder_for_test.h"
#include "freshet/platform/thread.h"
#include "freshet/testing/sim/memory_file_system.h"
#include "freshet/testing/sim/seed.h"

#include <gtest/gtest.h>

#include <fstream>
#include <random>
#include <set>
#include <sstream>

namespace freshet::testing {
namespace {

using platform::File;
using platform::OpenMode;
using Op = DiskFaults::Op;

std::string contentOf(File& file) {
    std::string content(*file.size(), '?');
    content.resize(*file.pread(content.data(), content.size(), 0));
    return content;
}

std::string contentOf(platform::FileSystem& files, const std::string& path) {
    auto file = files.open(path, OpenMode::kRead);
    return file.isOk() ? contentOf(**file) : std::string(codeName(file.status().code()));
}

TEST(MemoryFileSystem, ACrashKeepsWhatWasSyncedAndNothingElse) {
    MemoryFileSystem disk;
    ASSERT_TRUE(disk.makeDirectory("db/journal").isOk());
    auto file = std::move(*disk.open("db/journal/a", OpenMode::kCreateNew));
    ASSERT_TRUE(file->pwrite("synced", 0).isOk());
    ASSERT_TRUE(file->sync().isOk());
    ASSERT_TRUE(disk.syncDirectory("db/journal").isOk());
    ASSERT_TRUE(file->pwrite("LOST", 2).isOk());
    ASSERT_TRUE(file->pwrite("far", 10'000).isOk());
    EXPECT_EQ(*file->size(), 10'003u);
    EXPECT_EQ(contentOf(*file).substr(0, 6), "syLOST");
    disk.crash();
    EXPECT_EQ(file->pwrite("x", 0).code(), Code::kIo);
    EXPECT_EQ(contentOf(disk, "db/journal/a"), "synced");
}

TEST(MemoryFileSystem, ATruncationIsLostByACrashToo) {
    MemoryFileSystem disk;
    auto file = std::move(*disk.open("f", OpenMode::kCreate));
    ASSERT_TRUE(file->pwrite("abcdef", 0).isOk());
    ASSERT_TRUE(file->sync().isOk());
    ASSERT_TRUE(disk.syncDirectory("/").isOk());
    ASSERT_TRUE(file->truncate(2).isOk());
    ASSERT_TRUE(file->truncate(4).isOk());
    EXPECT_EQ(contentOf(*file), std::string("ab\0\0", 4));
    disk.crash();
    EXPECT_EQ(contentOf(disk, "f"), "abcdef");
}

TEST(MemoryFileSystem, NamesBehaveLikeThoseOfARealDirectory) {
    MemoryFileSystem disk;
    EXPECT_EQ(disk.open("d/f", OpenMode::kCreate).status().code(), Code::kNotFound);
    ASSERT_TRUE(disk.makeDirectory("d/sub").isOk());
    EXPECT_EQ(disk.open("d/f", OpenMode::kWrite).status().code(), Code::kNotFound);
    ASSERT_TRUE(disk.open("d/f", OpenMode::kCreate).isOk());
    EXPECT_EQ(disk.open("d//f", OpenMode::kCreateNew).status().code(), Code::kExists);
    ASSERT_TRUE(disk.rename("d/f", "d/g").isOk());
    EXPECT_EQ(*disk.list("d/"), (std::vector<std::string>{"g", "sub"}));
    ASSERT_TRUE(disk.remove("d/g").isOk());
    EXPECT_EQ(disk.remove("d/g").code(), Code::kNotFound);
    EXPECT_EQ(disk.list("nowhere").status().code(), Code::kNotFound);
}

TEST(MemoryFileSystem, ALockIsExclusiveAndEndsWithThePower) {
    MemoryFileSystem disk;
    auto first = disk.lock("db.lock");
    ASSERT_TRUE(first.isOk());
    auto second = disk.lock("db.lock");
    EXPECT_EQ(second.status().code(), Code::kUnavailable);
    EXPECT_NE(second.status().text().find(std::to_string(platform::processId())),
              std::string::npos);
    disk.crash();
    auto third = disk.lock("db.lock");
    ASSERT_TRUE(third.isOk());
    first->reset();
    EXPECT_EQ(disk.lock("db.lock").status().code(), Code::kUnavailable);
    third->reset();
    EXPECT_TRUE(disk.lock("db.lock").isOk());
}

std::string crashKeepingSome(uint64_t seed, uint64_t granularity) {
    MemoryFileSystem disk;
    disk.put("f", std::string(64 * 4096, 'o'));
    auto file = std::move(*disk.open("f", OpenMode::kWrite));
    EXPECT_TRUE(file->pwrite(std::string(64 * 4096, 'n'), 0).isOk());
    disk.crashKeepingSome(seed, granularity);
    std::string all = contentOf(disk, "f");
    std::string perPiece;
    for (size_t at = 0; at < all.size(); at += granularity) {
        EXPECT_EQ(all.substr(at, granularity), std::string(granularity, all[at]))
            << "torn piece at " << at;
        perPiece += all[at];
    }
    return perPiece;
}

TEST(MemoryFileSystem, ACrashMayKeepSomeUnsyncedPiecesRepeatablyBySeed) {
    for (uint64_t granularity : {4096, 512}) {
        std::string one = crashKeepingSome(1, granularity);
        EXPECT_EQ(one, crashKeepingSome(1, granularity));
        EXPECT_NE(one, crashKeepingSome(2, granularity));
        EXPECT_NE(one.find('n'), std::string::npos);
        EXPECT_NE(one.find('o'), std::string::npos);
    }
    // Blocks are torn when sectors survive separately.
    std::string sectors = crashKeepingSome(1, 512);
    EXPECT_NE(sectors.substr(0, 8).find_first_not_of(sectors[0]), std::string::npos);
}

TEST(MemoryFileSystem, NamesAreLostByACrashUnlessTheirDirectoryWasSynced) {
    MemoryFileSystem disk;
    ASSERT_TRUE(disk.makeDirectory("d").isOk());
    disk.put("d/kept", "k");
    disk.put("d/removed", "r");
    disk.put("d/over", "o");
    auto made = std::move(*disk.open("d/made", OpenMode::kCreate));
    ASSERT_TRUE(made->pwrite("m", 0).isOk());
    ASSERT_TRUE(made->sync().isOk());
    ASSERT_TRUE(disk.remove("d/removed").isOk());
    ASSERT_TRUE(disk.rename("d/kept", "d/over").isOk());
    EXPECT_EQ(*disk.list("d"), (std::vector<std::string>{"made", "over"}));
    EXPECT_EQ(contentOf(disk, "d/over"), "k");
    disk.crash();
    EXPECT_EQ(made->pwrite("x", 0).code(), Code::kIo);
    EXPECT_EQ(*disk.list("d"), (std::vector<std::string>{"kept", "over", "removed"}));
    EXPECT_EQ(contentOf(disk, "d/over"), "o");

    ASSERT_TRUE(disk.remove("d/removed").isOk());
    ASSERT_TRUE(disk.rename("d/kept", "d/over").isOk());
    ASSERT_TRUE(disk.syncDirectory("d").isOk());
    disk.crash();
    EXPECT_EQ(*disk.list("d"), (std::vector<std::string>{"over"}));
    EXPECT_EQ(contentOf(disk, "d/over"), "k");
}

TEST(MemoryFileSystem, ACrashMayKeepSomeUnsyncedNames) {
    std::set<std::vector<std::string>> seen;
    for (uint64_t seed = 0; seed < 64; ++seed) {
        MemoryFileSystem disk;
        disk.put("a", "");
        ASSERT_TRUE(disk.rename("a", "b").isOk());
        ASSERT_TRUE(disk.open("c", OpenMode::kCreate).isOk());
        disk.crashKeepingSome(seed);
        seen.insert(*disk.list("/"));
    }
    EXPECT_EQ(seen, (std::set<std::vector<std::string>>{{"a"}, {"b"}, {"a", "c"}, {"b", "c"}}));
}

TEST(MemoryFileSystem, OnlyTheChosenOperationFails) {
    MemoryFileSystem disk;
    auto file = std::move(*disk.open("f", OpenMode::kCreate));
    ASSERT_TRUE(disk.syncDirectory("/").isOk());
    disk.faults().fail(Op::kWrite, 2, Status(Code::kNoSpace, "full"));
    disk.faults().fail(Op::kSync, 1, Status(Code::kIo, "broken"));
    EXPECT_TRUE(file->pwrite("aaaa", 0).isOk());
    EXPECT_EQ(file->pwrite("bbbb", 0).code(), Code::kNoSpace);
    EXPECT_EQ(contentOf(*file), "bbaa");
    EXPECT_EQ(file->sync().code(), Code::kIo);
    disk.crash();
    EXPECT_EQ(contentOf(disk, "f"), "");
    EXPECT_EQ(disk.faults().count(Op::kWrite), 2u);
    EXPECT_EQ(disk.faults().count(Op::kSync), 1u);
    EXPECT_EQ(disk.faults().bytesWritten(), 8u);
}

/// Random operations against a plain string, to test the overlay's arithmetic.
TEST(MemoryFileSystem, BehavesAsAPlainFileUnderRandomOperations) {
    uint64_t seed = testSeed();
    SCOPED_TRACE("FRESHET_SEED=" + std::to_string(seed));
    std::mt19937_64 random(seed);
    MemoryFileSystem disk;
    auto file = std::move(*disk.open("f", OpenMode::kCreate));
    ASSERT_TRUE(disk.syncDirectory("/").isOk());
    std::string now;
    std::string durable;
    for (int step = 0; step < 400; ++step) {
        uint64_t at = random() % 20'000;
        switch (random() % 8) {
            case 0:
                ASSERT_TRUE(file->truncate(at).isOk());
                now.resize(at);
                break;
            case 1:
                ASSERT_TRUE(file->sync().isOk());
                durable = now;
                break;
            case 2:
                if (random() % 4 == 0) {
                    disk.crash();
                    file = std::move(*disk.open("f", OpenMode::kWrite));
                    now = durable;
                }
                break;
            default: {
                std::string data(1 + random() % 9'000, static_cast<char>('a' + random() % 26));
                ASSERT_TRUE(file->pwrite(data, at).isOk());
                now.resize(std::max<size_t>(now.size(), at + data.size()));
                now.replace(at, data.size(), data);
            }
        }
        ASSERT_EQ(contentOf(*file), now) << "step " << step;
    }
}

class SimFileSystemTest : public ::testing::Test {
protected:
    std::string path(const std::string& name) const { return folder_.path(name); }
    std::string real(const std::string& name) const {
        return contentOf(platform::FileSystem::posix(), path(name));
    }

    const platform::FolderForTest folder_;
    const std::string directory_ = folder_.path();
    SimFileSystem disk_{platform::FileSystem::posix()};
};

TEST_F(SimFileSystemTest, TheRealFileChangesOnSyncOnly) {
    auto file = std::move(*disk_.open(path("f"), OpenMode::kCreate));
    ASSERT_TRUE(file->pwrite("hello", 0).isOk());
    EXPECT_EQ(contentOf(disk_, path("f")), "hello");
    ASSERT_TRUE(disk_.syncDirectory(directory_).isOk());
    EXPECT_EQ(real("f"), "");
    ASSERT_TRUE(file->sync().isOk());
    EXPECT_EQ(real("f"), "hello");
    ASSERT_TRUE(file->truncate(1).isOk());
    EXPECT_EQ(real("f"), "hello");
    ASSERT_TRUE(file->sync().isOk());
    EXPECT_EQ(real("f"), "h");
}

TEST_F(SimFileSystemTest, UnsyncedBytesOutliveTheHandleAndFollowARename) {
    {
        auto file = std::move(*disk_.open(path("f"), OpenMode::kCreate));
        ASSERT_TRUE(file->pwrite("hello", 0).isOk());
    }
    ASSERT_TRUE(disk_.rename(path("f"), path("g")).isOk());
    EXPECT_EQ(contentOf(disk_, path("g")), "hello");
    ASSERT_TRUE(disk_.syncDirectory(directory_).isOk());
    EXPECT_EQ(real("g"), "");
    EXPECT_EQ(contentOf(disk_, path("f")), "NotFound");
}

TEST_F(SimFileSystemTest, AFileThatIsThereIsReadThrough) {
    std::ofstream(path("f")) << std::string(5'000, 'x');
    auto file = std::move(*disk_.open(path("f"), OpenMode::kWrite));
    ASSERT_TRUE(file->pwrite("yy", 4'095).isOk());
    EXPECT_EQ(contentOf(*file), std::string(4'095, 'x') + "yy" + std::string(5'000 - 4'097, 'x'));
    EXPECT_EQ(disk_.open(path("f"), OpenMode::kCreateNew).status().code(), Code::kExists);
    EXPECT_EQ(contentOf(disk_, path("f")).size(), 5'000u);
}

std::vector<std::string> namesIn(platform::FileSystem& files, const std::string& directory) {
    auto names = files.list(directory);
    std::erase_if(*names, [](const std::string& name) { return name[0] == '.'; });
    return *names;
}

TEST_F(SimFileSystemTest, NamesBecomeRealWhenTheirDirectoryIsSynced) {
    auto& posix = platform::FileSystem::posix();
    std::ofstream(path("moved")) << "m";
    std::ofstream(path("removed")) << "r";
    std::ofstream(path("again")) << "old";
    ASSERT_TRUE(disk_.rename(path("moved"), path("first")).isOk());
    ASSERT_TRUE(disk_.rename(path("first"), path("second")).isOk());
    ASSERT_TRUE(disk_.remove(path("removed")).isOk());
    ASSERT_TRUE(disk_.remove(path("again")).isOk());
    EXPECT_EQ(disk_.remove(path("again")).code(), Code::kNotFound);
    EXPECT_EQ(disk_.rename(path("moved"), path("x")).code(), Code::kNotFound);
    EXPECT_EQ(disk_.open(path("removed"), OpenMode::kWrite).status().code(), Code::kNotFound);
    auto again = std::move(*disk_.open(path("again"), OpenMode::kCreateNew));
    ASSERT_TRUE(again->pwrite("new", 0).isOk());
    ASSERT_TRUE(again->sync().isOk());
    EXPECT_EQ(disk_.open(path("second"), OpenMode::kCreateNew).status().code(), Code::kExists);
    const std::vector<std::string> visible = {"again", "second"};
    EXPECT_EQ(*disk_.list(directory_), visible);
    EXPECT_EQ(contentOf(disk_, path("second")), "m");
    // After a kill, another process finds it unchanged.
    EXPECT_EQ(namesIn(posix, directory_), (std::vector<std::string>{"again", "moved", "removed"}));
    EXPECT_EQ(real("again"), "old");
    SimFileSystem next(posix);
    EXPECT_EQ(*next.list(directory_), namesIn(posix, directory_));

    ASSERT_TRUE(disk_.syncDirectory(directory_).isOk());
    EXPECT_EQ(namesIn(posix, directory_), visible);
    EXPECT_EQ(*disk_.list(directory_), visible);
    EXPECT_EQ(real("second"), "m");
    EXPECT_EQ(real("again"), "new");
    EXPECT_EQ(contentOf(disk_, path("second")), "m");
}

TEST_F(SimFileSystemTest, SomeOfTheUnsyncedMayLeak) {
    std::ofstream(path("f")) << std::string(64 * 512, 'o');
    disk_.leak(0.5, 3);
    auto file = std::move(*disk_.open(path("f"), OpenMode::kWrite));
    ASSERT_TRUE(file->pwrite(std::string(64 * 512, 'n'), 0).isOk());
    std::string found = real("f");
    ASSERT_EQ(found.size(), 64u * 512);
    size_t leaked = 0;
    for (size_t at = 0; at < found.size(); at += 512) {
        ASSERT_EQ(found.substr(at, 512), std::string(512, found[at]));
        leaked += found[at] == 'n' ? 1 : 0;
    }
    EXPECT_GT(leaked, 0u);
    EXPECT_LT(leaked, 64u);
    EXPECT_EQ(contentOf(*file), std::string(64 * 512, 'n'));
    disk_.leak(1, 3);
    ASSERT_TRUE(disk_.rename(path("f"), path("g")).isOk());
    EXPECT_EQ(real("f"), "NotFound");
    EXPECT_EQ(real("g").size(), found.size());
}

TEST_F(SimFileSystemTest, AFailedSyncLeavesTheRealFileAlone) {
    auto file = std::move(*disk_.open(path("f"), OpenMode::kCreate));
    ASSERT_TRUE(disk_.syncDirectory(directory_).isOk());
    ASSERT_TRUE(file->pwrite("hello", 0).isOk());
    disk_.faults().fail(Op::kSync, 1, Status(Code::kIo, "broken"));
    EXPECT_EQ(file->sync().text(), "broken");
    EXPECT_EQ(real("f"), "");
}

}  // namespace
}  // namespace freshet::testing
