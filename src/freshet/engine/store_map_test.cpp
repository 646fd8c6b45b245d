// SPDX-License-Identifier: Apache-2.0
/// The block file's page map stays on disk while the store runs. When a checkpoint finds a damaged
/// part of it, the store ends; everything acknowledged is in the journal.
#include "freshet/engine/txn/store_test_support.h"

#include <optional>

namespace freshet::engine {
namespace {

constexpr char kMapFile[] = "/db/data.freshet";
constexpr uint64_t kMapKeys = 300;

std::string keyInMap(uint64_t n) {
    return "key " + std::to_string(1000 + n);
}

class StoreMap : public ::testing::Test {
protected:
    void open() {
        StoreOptions options = storeOptions(disk_);
        options.checkpointIntervalMs = 3'600'000;
        options.onFatal = [this](const Status& why) { fatal_ = why; };
        store_ = openStore(options);
        ASSERT_NE(store_, nullptr);
        tree_ = store_->tree(7);
    }
    void close() {
        tree_.reset();
        store_.reset();
    }
    /// Changes a byte in the first entries of every run of the map, or changes it back.
    void damageRuns() {
        for (const uint64_t offset : runs_) {
            disk_.damage(kMapFile, offset + 40);
        }
    }
    void findRuns() {
        auto file = disk_.open(kMapFile, platform::OpenMode::kRead);
        std::string bytes(*(*file)->size(), '\0');
        ASSERT_TRUE((*file)->pread(bytes.data(), bytes.size(), 0).isOk());
        for (uint64_t offset = 0; offset + 4 <= bytes.size(); offset += block::kBlockBytes) {
            if (bytes.compare(offset, 4, "FHRN") == 0) {
                runs_.push_back(offset);
            }
        }
        ASSERT_FALSE(runs_.empty());
    }

    testing::MemoryFileSystem disk_;
    std::vector<uint64_t> runs_;
    std::optional<Status> fatal_;
    std::unique_ptr<Store> store_;
    TreeRef tree_;
};

TEST_F(StoreMap, DamageOfItEndsTheStoreAndLosesNothing) {
    open();
    for (uint64_t n = 0; n < kMapKeys; ++n) {
        put(*store_, *tree_, keyInMap(n), std::string(500, 'a'));
    }
    ASSERT_TRUE(store_->checkpointNow().isOk());
    findRuns();
    damageRuns();
    for (uint64_t n = 0; n < kMapKeys; n += 2) {
        putDurably(*store_, *tree_, keyInMap(n), "b");
    }
    const Status status = store_->checkpointNow();
    EXPECT_EQ(status.code(), Code::kCorruption) << status.toString();
    EXPECT_NE(status.text().find(kMapFile), std::string_view::npos) << status.toString();
    EXPECT_NE(status.text().find("offset"), std::string_view::npos) << status.toString();
    ASSERT_TRUE(fatal_.has_value());
    EXPECT_EQ(fatal_->code(), Code::kCorruption);
    EXPECT_EQ(store_->checkpointNow().code(), Code::kCorruption) << "it is not tried again";
    disk_.crash();
    close();

    damageRuns();  // as it was, as if it had only been read incorrectly
    open();
    {
        Txn txn(*store_);
        for (uint64_t n = 0; n < kMapKeys; ++n) {
            EXPECT_EQ(valueOf(txn, *tree_, keyInMap(n)), n % 2 == 0 ? "b" : std::string(500, 'a'));
        }
    }
    auto report = store_->verifyFiles();
    ASSERT_TRUE(report.isOk());
    EXPECT_TRUE(report->errors.empty());
    close();

    runs_.clear();
    findRuns();
    damageRuns();
    auto refused = Store::open(storeOptions(disk_));
    ASSERT_FALSE(refused.isOk()) << "damage is not passed over";
    EXPECT_EQ(refused.status().code(), Code::kCorruption);
}

TEST_F(StoreMap, VerifyReportsDamageInIt) {
    open();
    put(*store_, *tree_, "key", "value");
    ASSERT_TRUE(store_->checkpointNow().isOk());
    findRuns();
    damageRuns();
    auto report = store_->verifyFiles();
    ASSERT_TRUE(report.isOk()) << report.status().toString();
    ASSERT_FALSE(report->errors.empty());
    EXPECT_NE(report->errors[0].find(kMapFile), std::string::npos) << report->errors[0];
    disk_.crash();
}

}  // namespace
}  // namespace freshet::engine
