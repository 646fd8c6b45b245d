// SPDX-License-Identifier: Apache-2.0
#include "freshet/engine/recovery/foreign_files.h"

#include "freshet/engine/store.h"
#include "freshet/testing/sim/memory_file_system.h"

#include <gtest/gtest.h>

namespace freshet::engine {
namespace {

testing::MemoryFileSystem& withFiles(testing::MemoryFileSystem& disk,
                                     const std::vector<std::string>& names) {
    EXPECT_TRUE(disk.makeDirectory("/db").isOk());
    for (const std::string& name : names) {
        disk.put("/db/" + name, "");
    }
    return disk;
}

Status checked(const std::vector<std::string>& names) {
    testing::MemoryFileSystem disk;
    return checkForeignFiles(withFiles(disk, names), "/db");
}

TEST(ForeignFiles, FilesBesideAStoreAreHarmless) {
    EXPECT_TRUE(checked({}).isOk());
    EXPECT_TRUE(checked({".snapshot", "server.pem", "server.log", "server.log.2026-11-28", "x.pid"})
                    .isOk());
    EXPECT_TRUE(checked({"freshetd.lock", "freshet.id.new"}).isOk());
    // A store exists, or did: opening it says what is wrong with it.
    EXPECT_TRUE(checked({"freshet.id", "journal", "WiredTiger"}).isOk());
    EXPECT_TRUE(checked({"data.freshet", "holiday.jpg"}).isOk());
}

TEST(ForeignFiles, OthersAreRefusedByName) {
    struct Case {
        std::string file;
        std::string word;
    };
    for (const auto& [file, word] : {Case{"WiredTiger.turtle", "mongorestore"},
                                     Case{"collection-0-123.wt", "mongodump"},
                                     Case{"storage.bson", "MongoDB"},
                                     Case{"PG_VERSION", "PostgreSQL"},
                                     Case{"MANIFEST-000001", "RocksDB"},
                                     Case{"ibdata1", "MySQL"},
                                     Case{"journal", "--allowForeignFiles"},
                                     Case{"anything", "--allowForeignFiles"}}) {
        const Status status = checked({".hidden", file, "server.log"});
        EXPECT_EQ(status.code(), Code::kInvalid) << file;
        EXPECT_NE(status.text().find(file), std::string_view::npos) << status.toString();
        EXPECT_NE(status.text().find(word), std::string_view::npos) << status.toString();
    }
}

TEST(ForeignFiles, OpeningChecksOnlyOnRequest) {
    testing::MemoryFileSystem disk;
    StoreOptions options;
    options.files = &withFiles(disk, {"WiredTiger"});
    options.directory = "/db";
    options.refuseForeignFiles = true;
    EXPECT_EQ(Store::open(options).status().code(), Code::kInvalid);
    const auto names = disk.list("/db");
    ASSERT_TRUE(names.isOk());
    EXPECT_EQ(names->size(), 1u);  // nothing was made there
    options.refuseForeignFiles = false;
    EXPECT_TRUE(Store::open(options).isOk());
    options.refuseForeignFiles = true;
    EXPECT_TRUE(Store::open(options).isOk());  // a store exists there
}

}  // namespace
}  // namespace freshet::engine
