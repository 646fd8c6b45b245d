// SPDX-License-Identifier: Apache-2.0
#include "freshet/platform/batch_writes.h"

#include "freshet/platform/blocks_test_support.h"
#include "freshet/platform/folder_for_test.h"
#include "freshet/platform/thread.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

namespace freshet::platform {
namespace {

/// The parameter: bypass the system's cache.
class BatchWritesTest : public ::testing::TestWithParam<bool> {
protected:
    void SetUp() override {
        file_ = std::move(*FileSystem::posix().open(path_, OpenMode::kCreate));
        ASSERT_TRUE(file_->pwriteZeros(0, kBlocks * kBlockBytes).isOk());
        if (GetParam() && !file_->bypassCache()) {
            GTEST_SKIP() << "this file system has no direct transfers";
        }
        memory_ = blocks(kBlocks);
    }

    /// Every second block, the last one first, filled with its letter; the whole of memory_.
    std::vector<BatchWrites::Write> everySecond(char first) {
        std::vector<BatchWrites::Write> writes;
        for (size_t n = kBlocks - 2; n < kBlocks; n -= 2) {
            char* block = memory_.get() + n * kBlockBytes;
            std::memset(block, letter(first, n), kBlockBytes);
            writes.push_back({{block, kBlockBytes}, n * kBlockBytes});
        }
        return writes;
    }
    static char letter(char first, size_t block) {
        return static_cast<char>(first + static_cast<char>(block % 23));
    }
    void expectEverySecond(char first) {
        std::string bytes(kBlocks * kBlockBytes, '?');
        ASSERT_EQ(*file_->pread(bytes.data(), bytes.size(), 0), bytes.size());
        for (size_t n = 0; n < kBlocks; ++n) {
            const char expected = n % 2 == 0 ? letter(first, n) : '\0';
            ASSERT_EQ(bytes.substr(n * kBlockBytes, kBlockBytes),
                      std::string(kBlockBytes, expected))
                << "block " << n;
        }
    }

    static constexpr size_t kBlocks = 500;
    const FolderForTest folder_;
    const std::string path_ = folder_.path("data");
    std::unique_ptr<File> file_;
    Blocks memory_;
    BatchWrites batch_;
};

TEST_P(BatchWritesTest, AllOfThemAreThereWhenItReturns) {
    for (const char first : {'a', 'A'}) {
        ASSERT_TRUE(batch_.write(*file_, everySecond(first)).isOk());
        expectEverySecond(first);
    }
}

TEST_P(BatchWritesTest, NeighboursMayGoTogetherAndTheirBytesStayApart) {
    // Stretches of one to five blocks, each filled with its letter; every fourth is left out.
    std::vector<BatchWrites::Write> writes;
    std::string expected(kBlocks * kBlockBytes, '\0');
    for (size_t at = 0, n = 0; at + 5 <= kBlocks; at += n % 5 + 1, ++n) {
        const size_t bytes = (n % 5 + 1) * kBlockBytes;
        char* stretch = memory_.get() + at * kBlockBytes;
        std::memset(stretch, letter('a', n), bytes);
        if (n % 4 != 3) {
            writes.push_back({{stretch, bytes}, at * kBlockBytes});
            expected.replace(at * kBlockBytes, bytes, bytes, letter('a', n));
        }
    }
    ASSERT_TRUE(batch_.write(*file_, writes).isOk());
    std::string bytes(expected.size(), '?');
    ASSERT_EQ(*file_->pread(bytes.data(), bytes.size(), 0), bytes.size());
    EXPECT_TRUE(bytes == expected);
}

TEST_P(BatchWritesTest, NoneAndOneAreBatchesToo) {
    ASSERT_TRUE(batch_.write(*file_, {}).isOk());
    const auto writes = everySecond('a');
    for (const BatchWrites::Write& write : writes) {
        ASSERT_TRUE(batch_.write(*file_, {&write, 1}).isOk());
    }
    expectEverySecond('a');
}

TEST_P(BatchWritesTest, ThreadsTakeTurns) {
    for (const char first : {'a', 'b', 'c'}) {
        Thread writer("writer",
                      [&] { EXPECT_TRUE(batch_.write(*file_, everySecond(first)).isOk()); });
        writer.join();
        expectEverySecond(first);
        ASSERT_TRUE(batch_.write(*file_, everySecond('A')).isOk());
        expectEverySecond('A');
    }
}

TEST_P(BatchWritesTest, ADiskWithoutRoomSaysSo) {
    auto full = FileSystem::posix().open("/dev/full", OpenMode::kWrite);
    ASSERT_TRUE(full.isOk());
    const Status status = batch_.write(**full, everySecond('a'));
    EXPECT_EQ(status.code(), Code::kNoSpace) << status.toString();
    EXPECT_NE(status.text().find("/dev/full"), std::string::npos) << status.toString();
    // The first file still works.
    ASSERT_TRUE(batch_.write(*file_, everySecond('b')).isOk());
    expectEverySecond('b');
}

TEST_P(BatchWritesTest, AFileThatMayNotBeWrittenToSaysSo) {
    auto reader = FileSystem::posix().open(path_, OpenMode::kRead);
    ASSERT_TRUE(reader.isOk());
    EXPECT_EQ(batch_.write(**reader, everySecond('a')).code(), Code::kIo);
}

INSTANTIATE_TEST_SUITE_P(, BatchWritesTest, ::testing::Bool(), [](const auto& info) {
    return info.param ? "Direct" : "Cached";
});

}  // namespace
}  // namespace freshet::platform
