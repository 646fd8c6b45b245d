// SPDX-License-Identifier: Apache-2.0
/// A sound disk that is read incorrectly while a store is opened: whatever that makes open()
/// choose, nothing that was acknowledged is lost when the disk is read correctly again.
#include "freshet/engine/recovery/identity.h"
#include "freshet/engine/txn/store_test_support.h"
#include "freshet/testing/sim/misreading_file_system.h"

#include <algorithm>
#include <map>

namespace freshet::engine {
namespace {

constexpr char kFile[] = "/db/data.freshet";
constexpr uint64_t kEver = UINT64_MAX;
constexpr uint64_t kRunNumberOffset = 8;  // of the checkpoint's number in a run of the page map

/// Which part of the newest checkpoint is read incorrectly.
enum class Spoiled { kMap, kSuperblock };

class StoreMisread : public ::testing::TestWithParam<Spoiled> {
protected:
    StoreOptions options() {
        StoreOptions options = storeOptions(disk_);
        options.files = &files_;
        options.journalSegmentBytesMax = 2u << 20;  // the smallest possible
        options.checkpointIntervalMs = 3'600'000;
        return options;
    }
    void open(const StoreOptions& options) {
        store_ = openStore(options);
        ASSERT_NE(store_, nullptr);
        tree_ = store_->tree(7);
    }
    /// Writes keys before two checkpoints and after them, then the power fails.
    void fillAndCrash(size_t valueBytes = 100) {
        ASSERT_NO_FATAL_FAILURE(open(options()));
        for (uint64_t n = 0; n < 300; ++n) {
            const std::string key = "key " + std::to_string(n);
            model_[key] = std::to_string(n) + std::string(valueBytes, 'v');
            put(*store_, *tree_, key, model_[key]);
            if (n == 100 || n == 200) {
                ASSERT_TRUE(store_->checkpointNow().isOk());
            }
        }
        model_["last"] = "durable";
        putDurably(*store_, *tree_, "last", "durable");
        close();
    }
    void close() {
        tree_.reset();
        disk_.crash();
        store_.reset();
    }
    void misread(uint64_t times) {
        const auto [newest, runs] = newestRuns();
        ASSERT_GE(newest, 2u);
        if (GetParam() == Spoiled::kSuperblock) {
            files_.misread(kFile, newest % 2 * block::kBlockBytes + 40, times);
            return;
        }
        for (const uint64_t offset : runs) {
            files_.misread(kFile, offset + 40, times);
        }
    }
    /// The newest checkpoint's number, and the places of the runs that it wrote.
    std::pair<uint64_t, std::vector<uint64_t>> newestRuns() {
        const std::string bytes = bytesOf(kFile);
        uint64_t newest = 0;
        std::vector<uint64_t> runs;
        for (uint64_t offset = 0; offset < bytes.size(); offset += block::kBlockBytes) {
            const auto number = loadLe<uint64_t>(bytes.data() + offset + kRunNumberOffset);
            if (bytes.compare(offset, 4, "FHRN") != 0 || number < newest) {
                continue;
            }
            if (number > newest) {
                newest = number;
                runs.clear();
            }
            runs.push_back(offset);
        }
        return {newest, runs};
    }
    std::string bytesOf(const std::string& path) {
        auto file = disk_.open(path, platform::OpenMode::kRead);
        EXPECT_TRUE(file.isOk()) << path;
        std::string bytes(*(*file)->size(), '\0');
        EXPECT_TRUE((*file)->pread(bytes.data(), bytes.size(), 0).isOk());
        return bytes;
    }
    std::map<std::string, std::string> allBytes() {
        std::map<std::string, std::string> all{{kFile, bytesOf(kFile)}};
        const std::string journal = "/db/journal";
        auto names = disk_.list(journal);
        EXPECT_TRUE(names.isOk());
        for (const std::string& name : *names) {
            all[name] = bytesOf((journal + "/").append(name));
        }
        return all;
    }
    void expectRefusedWith(const std::string& text) {
        const auto before = allBytes();
        auto refused = Store::open(options());
        ASSERT_FALSE(refused.isOk());
        EXPECT_EQ(refused.status().code(), Code::kCorruption);
        EXPECT_NE(refused.status().text().find(text), std::string_view::npos)
            << refused.status().toString();
        EXPECT_TRUE(allBytes() == before) << "something was written";
    }
    void expectAll() {
        {
            Txn txn(*store_);
            for (const auto& [key, value] : model_) {
                ASSERT_EQ(valueOf(txn, *tree_, key), value) << key;
            }
        }
        EXPECT_TRUE(store_->losses().empty());
        auto report = store_->verifyFiles();
        ASSERT_TRUE(report.isOk()) << report.status().toString();
        EXPECT_EQ(report->errors, std::vector<std::string>{});
    }

    testing::MemoryFileSystem disk_;
    testing::MisreadingFileSystem files_{disk_};
    std::map<std::string, std::string> model_;
    std::unique_ptr<Store> store_;
    TreeRef tree_;
};

INSTANTIATE_TEST_SUITE_P(What,
                         StoreMisread,
                         ::testing::Values(Spoiled::kMap, Spoiled::kSuperblock));

TEST_P(StoreMisread, TheNewestCheckpointIsRefusedAndThereWhenItIsReadRight) {
    fillAndCrash();
    const uint64_t newest = newestRuns().first;
    misread(kEver);
    for (int i = 0; i < 3; ++i) {
        expectRefusedWith(std::string(kFile) + ": checkpoint " + std::to_string(newest) +
                          " was complete and is damaged or read wrong");
    }
    EXPECT_GE(files_.misreadings(), 3u);
    files_.heal();
    ASSERT_NO_FATAL_FAILURE(open(options()));
    expectAll();
    close();
    ASSERT_NO_FATAL_FAILURE(open(options()));
    expectAll();
}

TEST_P(StoreMisread, ALogThatDoesNotReachBackRefusesAsWell) {
    fillAndCrash(60'000);
    misread(kEver);
    expectRefusedWith("are missing");
    files_.heal();
    ASSERT_NO_FATAL_FAILURE(open(options()));
    expectAll();
}

TEST_P(StoreMisread, WhatIsWrongOnceIsReadAgain) {
    fillAndCrash();
    misread(1);
    ASSERT_NO_FATAL_FAILURE(open(options()));
    EXPECT_GT(files_.misreadings(), 0u);
    expectAll();
}

TEST_P(StoreMisread, ARepairGivesNothingUpForIt) {
    fillAndCrash();
    misread(1);
    StoreOptions repairing = options();
    repairing.repair = true;
    ASSERT_NO_FATAL_FAILURE(open(repairing));
    EXPECT_GT(files_.misreadings(), 0u);
    expectAll();
    ASSERT_TRUE(store_->finishRepair().isOk());
}

}  // namespace
}  // namespace freshet::engine
