// SPDX-License-Identifier: Apache-2.0
#include "freshet/platform/async_reads.h"

#include "freshet/platform/blocks_test_support.h"
#include "freshet/platform/folder_for_test.h"
#include "freshet/platform/thread.h"
#include "freshet/platform/uring/read_steps.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>
#include <set>
#include <vector>

namespace freshet::platform {
namespace {

Blocks unread(size_t count) {
    Blocks memory = blocks(count);
    std::memset(memory.get(), '?', count * kBlockBytes);
    return memory;
}

/// A file whose block n is filled with the character for n. The parameter: bypass the system's
/// cache.
class AsyncReadsTest : public ::testing::TestWithParam<bool> {
protected:
    static constexpr size_t kBlocks = 500;

    void SetUp() override {
        file_ = std::move(*FileSystem::posix().open(path_, OpenMode::kCreate));
        for (size_t n = 0; n < kBlocks; ++n) {
            ASSERT_TRUE(file_->pwrite(std::string(kBlockBytes, letter(n)), n * kBlockBytes).isOk());
        }
        if (GetParam() && !file_->bypassCache()) {
            GTEST_SKIP() << "this file system has no direct transfers";
        }
        auto reads = AsyncReads::create(kAtOnce);
        if (!reads.isOk()) {
            EXPECT_EQ(reads.status().code(), Code::kUnavailable);
            GTEST_SKIP() << reads.status().toString();
        }
        reads_ = std::move(reads).value();
    }

    static char letter(size_t block) { return static_cast<char>('a' + block % 23); }

    static constexpr unsigned kAtOnce = 16;
    const FolderForTest folder_;
    const std::string path_ = folder_.path("data");
    std::unique_ptr<File> file_;
    std::unique_ptr<AsyncReads> reads_;
};

TEST_P(AsyncReadsTest, AllThatWereStartedEndWithTheirBytes) {
    std::vector<AsyncReads::Read> reads(kBlocks - 1);
    std::vector<Blocks> memory;
    memory.reserve(reads.size());
    for (size_t n = 0; n < reads.size(); ++n) {
        memory.push_back(unread(2));
        reads[n].out = memory[n].get();
        reads[n].bytes = 2 * kBlockBytes;
        reads[n].offset = n * kBlockBytes;
        reads[n].owner = &memory[n];
        reads_->start(*file_, &reads[n]);
    }
    for (size_t left = reads.size(); left > 0; --left) {
        AsyncReads::Read* read = reads_->await();
        ASSERT_NE(read, nullptr);
        ASSERT_TRUE(read->status.isOk()) << read->status.toString();
        ASSERT_EQ(read->got, 2 * kBlockBytes);
        const size_t n = read->offset / kBlockBytes;
        EXPECT_EQ(read, &reads[n]);
        EXPECT_EQ(read->owner, &memory[n]);
        EXPECT_EQ(std::string(memory[n].get(), kBlockBytes), std::string(kBlockBytes, letter(n)));
        EXPECT_EQ(memory[n].get()[2 * kBlockBytes - 1], letter(n + 1));
        read->owner = nullptr;  // each once
    }
    EXPECT_EQ(reads_->poll(), nullptr);
}

TEST_P(AsyncReadsTest, FewerBytesComeAtTheEndOfTheFileOnly) {
    const Blocks memory = unread(8);
    AsyncReads::Read read;
    read.out = memory.get();
    read.bytes = 8 * kBlockBytes;
    read.offset = (kBlocks - 3) * kBlockBytes;
    reads_->start(*file_, &read);
    ASSERT_EQ(reads_->await(), &read);
    EXPECT_TRUE(read.status.isOk()) << read.status.toString();
    EXPECT_EQ(read.got, 3 * kBlockBytes);
    EXPECT_EQ(memory.get()[3 * kBlockBytes - 1], letter(kBlocks - 1));

    read.offset = 2 * kBlocks * kBlockBytes;
    reads_->start(*file_, &read);
    ASSERT_EQ(reads_->await(), &read);
    EXPECT_TRUE(read.status.isOk());
    EXPECT_EQ(read.got, 0u);
}

TEST_P(AsyncReadsTest, AFailureIsThatReadsOnly) {
    const Blocks good = unread(1);
    const Blocks bad = unread(1);
    auto another = std::move(*FileSystem::posix().open(path_, OpenMode::kWrite));
    AsyncReads::Read first;
    first.out = good.get();
    first.bytes = kBlockBytes;
    AsyncReads::Read second;
    second.out = bad.get();
    second.bytes = kBlockBytes;
    second.offset = uint64_t{1} << 63;  // beyond any file
    reads_->start(*file_, &second);
    reads_->start(*another, &first);
    for (int i = 0; i < 2; ++i) {
        ASSERT_NE(reads_->await(), nullptr);
    }
    EXPECT_EQ(second.status.code(), Code::kIo);
    EXPECT_TRUE(first.status.isOk()) << first.status.toString();
    EXPECT_EQ(first.got, kBlockBytes);
    EXPECT_EQ(good.get()[0], letter(0));
}

TEST_P(AsyncReadsTest, OthersWakeTheOneThatWaits) {
    for (int round = 0; round < 50; ++round) {
        Thread other("test", [&] { reads_->wake(); });
        EXPECT_EQ(reads_->await(), nullptr);
    }
    // Not lost when no thread waits, and not in the way of reads.
    reads_->wake();
    const Blocks memory = unread(1);
    AsyncReads::Read read;
    read.out = memory.get();
    read.bytes = kBlockBytes;
    reads_->start(*file_, &read);
    const std::set<AsyncReads::Read*> came = {reads_->await(), reads_->await()};
    EXPECT_EQ(came, (std::set<AsyncReads::Read*>{nullptr, &read}));
}

INSTANTIATE_TEST_SUITE_P(Cache, AsyncReadsTest, ::testing::Bool());

TEST(AsyncReadsOfOthers, AreNotPossible) {
    class Strange final : public File {
        StatusOr<size_t> pread(char*, size_t, uint64_t) override { return size_t{0}; }
        Status pwrite(ByteView, uint64_t) override { return Status::ok(); }
        Status sync() override { return Status::ok(); }
        StatusOr<uint64_t> size() override { return uint64_t{0}; }
        Status truncate(uint64_t) override { return Status::ok(); }
        void forget(uint64_t, uint64_t) override {}
    };
    EXPECT_FALSE(Strange().canReadAsync());
}

TEST(AsyncReadsOfOthers, ARingThatCannotBeMadeIsUnavailable) {
    constexpr unsigned kMoreThanAnyKernelAllows = 1u << 30;
    EXPECT_EQ(AsyncReads::create(kMoreThanAnyKernelAllows).status().code(), Code::kUnavailable);
}

TEST(ReadSteps, AShortResultAsksForTheRest) {
    AsyncReads::Read read;
    read.bytes = 3 * kBlockBytes;
    EXPECT_FALSE(noteResult(&read, kBlockBytes));
    EXPECT_FALSE(noteResult(&read, kBlockBytes));
    EXPECT_EQ(read.got, 2 * kBlockBytes);
    EXPECT_TRUE(noteResult(&read, kBlockBytes));
    EXPECT_EQ(read.got, 3 * kBlockBytes);
    EXPECT_TRUE(read.status.isOk());
}

TEST(ReadSteps, NothingMoreIsTheEndOfTheFile) {
    AsyncReads::Read read;
    read.bytes = 3 * kBlockBytes;
    EXPECT_FALSE(noteResult(&read, kBlockBytes));
    EXPECT_TRUE(noteResult(&read, 0));
    EXPECT_EQ(read.got, kBlockBytes);
    EXPECT_TRUE(read.status.isOk());
}

TEST(ReadSteps, RefusalsThatPassAreTriedAgainButNotForEver) {
    for (const int refusal : {-EINTR, -EAGAIN}) {
        AsyncReads::Read read;
        read.bytes = kBlockBytes;
        for (int i = 1; i < kRefusalsMax; ++i) {
            EXPECT_FALSE(noteResult(&read, refusal));
        }
        EXPECT_TRUE(noteResult(&read, refusal));
        EXPECT_EQ(read.status.code(), Code::kIo);
    }
    AsyncReads::Read read;
    read.bytes = kBlockBytes;
    EXPECT_TRUE(noteResult(&read, -EIO));
    EXPECT_EQ(read.status.code(), Code::kIo);
}

}  // namespace
}  // namespace freshet::platform
