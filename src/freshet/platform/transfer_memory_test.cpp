// SPDX-License-Identifier: Apache-2.0
#include "freshet/platform/transfer_memory.h"

#include "freshet/platform/blocks_test_support.h"
#include "freshet/platform/file.h"
#include "freshet/platform/folder_for_test.h"
#include "freshet/platform/thread.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace freshet::platform {
namespace {

class TransferMemory : public ::testing::Test {
protected:
    void SetUp() override {
        if (TransferPiece(kBlockBytes).data() == nullptr) {
            GTEST_SKIP() << "the system gives no huge pages";
        }
    }

    struct Filled {
        TransferPiece piece;
        size_t bytes;
    };
    /// A piece filled with a letter; empty if there is none.
    static Filled filled(size_t bytes, char letter) {
        Filled made{TransferPiece(bytes), bytes};
        if (made.piece.data() != nullptr) {
            std::memset(made.piece.data(), letter, bytes);
        }
        return made;
    }
    static bool isFullOf(const Filled& filled, char letter) {
        return std::string(filled.bytes, letter) == std::string(filled.piece.data(), filled.bytes);
    }
    /// Takes all pieces there are.
    static std::vector<Filled> takeAll(size_t bytes) {
        std::vector<Filled> all;
        for (;;) {
            Filled next = filled(bytes, static_cast<char>('a' + all.size() % 23));
            if (next.piece.data() == nullptr) {
                return all;
            }
            all.push_back(std::move(next));
        }
    }
};

TEST_F(TransferMemory, PiecesAreAlignedAndNotShared) {
    std::vector<Filled> all;
    for (const size_t pages : {1, 3, 4, 5, 16, 64, 2, 256, 7}) {
        all.push_back(filled(pages * kBlockBytes, static_cast<char>('a' + all.size())));
        ASSERT_NE(all.back().piece.data(), nullptr) << pages;
        EXPECT_EQ(reinterpret_cast<uintptr_t>(all.back().piece.data()) % kBlockBytes, 0u);
        EXPECT_TRUE(TransferPiece::isOnePiece(all.back().piece.data(), pages * kBlockBytes));
    }
    for (size_t i = 0; i < all.size(); ++i) {
        EXPECT_TRUE(isFullOf(all[i], static_cast<char>('a' + i))) << i;
    }
}

TEST_F(TransferMemory, ARequestThatFindsNoneSucceedsLater) {
    for (const size_t bytes : {3 * kBlockBytes, 9 * kBlockBytes, kTransferBytesMax}) {
        std::vector<Filled> all = takeAll(bytes);
        ASSERT_GE(all.size(), 2u);
        for (size_t i = 0; i < all.size(); ++i) {
            EXPECT_TRUE(isFullOf(all[i], static_cast<char>('a' + i % 23))) << i;
        }
        all.erase(all.begin() + 1);
        EXPECT_NE(TransferPiece(bytes).data(), nullptr);
        const size_t count = all.size() + 1;
        all.clear();
        EXPECT_EQ(takeAll(bytes).size(), count);
    }
}

TEST_F(TransferMemory, WhatIsTooLargeIsEmpty) {
    EXPECT_EQ(TransferPiece(kTransferBytesMax + 1).data(), nullptr);
}

TEST_F(TransferMemory, OnePageIsOnePieceWhereverItLies) {
    const std::vector<char> elsewhere(2 * kBlockBytes);
    EXPECT_TRUE(TransferPiece::isOnePiece(elsewhere.data(), kBlockBytes));
    EXPECT_FALSE(TransferPiece::isOnePiece(elsewhere.data(), 2 * kBlockBytes));
}

TEST_F(TransferMemory, ManyThreadsTakeAndGiveBack) {
    std::vector<Thread> threads;
    for (int t = 0; t < 4; ++t) {
        threads.emplace_back("test", [t] {
            for (size_t i = 0; i < 2000; ++i) {
                const Filled mine = filled((1 + i % 9) * kBlockBytes, static_cast<char>('a' + t));
                EXPECT_TRUE(mine.piece.data() == nullptr ||
                            isFullOf(mine, static_cast<char>('a' + t)));
            }
        });
    }
}

/// With and without a piece, since a transfer may find one or not.
TEST_F(TransferMemory, FilesReadAndWriteTheSameWithoutIt) {
    const FolderForTest folder;
    auto file = std::move(*FileSystem::posix().open(folder.path("data"), OpenMode::kCreate));
    constexpr size_t kBytes = 3 * kTransferBytesMax / 2;
    ASSERT_TRUE(file->pwriteZeros(0, kBytes).isOk());
    if (!file->bypassCache()) {
        GTEST_SKIP() << "this file system has no direct transfers";
    }
    std::string expected(kBytes, '?');
    for (size_t i = 0; i < kBytes; ++i) {
        expected[i] = static_cast<char>(i * 31 / 7);
    }
    for (const bool isTaken : {false, true}) {
        const std::vector<Filled> all = isTaken ? takeAll(kBlockBytes) : std::vector<Filled>();
        std::swap(expected[0], expected[kBlockBytes]);
        ASSERT_TRUE(file->pwrite(expected, 0).isOk());
        std::string bytes(kBytes, '!');
        ASSERT_EQ(*file->pread(bytes.data(), kBytes, 0), kBytes);
        EXPECT_TRUE(bytes == expected);
        // The file ends in it.
        ASSERT_EQ(*file->pread(bytes.data(), 4 * kBlockBytes, kBytes - 2 * kBlockBytes),
                  2 * kBlockBytes);
        EXPECT_EQ(bytes.substr(0, 2 * kBlockBytes), expected.substr(kBytes - 2 * kBlockBytes));
    }
}

}  // namespace
}  // namespace freshet::platform
