// SPDX-License-Identifier: Apache-2.0
/// Events of transactions, as a reader of the log finds them.
#include "freshet/engine/commit_reader.h"
#include "freshet/engine/recovery/identity.h"
#include "freshet/engine/txn/store_test_support.h"
#include "freshet/platform/clock.h"

#include <vector>

namespace freshet::engine {
namespace {

struct LoggedCommit {
    std::vector<std::string> changes;
    std::vector<std::string> events;
    int64_t wallMs = 0;
};

class CommitEvents : public ::testing::Test {
protected:
    /// Reads the log of a store that is not open.
    std::vector<LoggedCommit> readLog() {
        tree_.reset();
        store_.reset();
        journal::Options options;
        options.files = &disk_;
        options.directory = std::string("/db") + kJournalFolder;
        options.dbUuid = *readOrMakeIdentity(disk_, "/db");
        std::vector<LoggedCommit> commits;
        auto journal = journal::Journal::open(options, [&](const journal::RecordView& record) {
            if (record.type == journal::RecordType::kCommit) {
                commits.push_back(read(record.body));
            }
            return Status::ok();
        });
        EXPECT_TRUE(journal.isOk()) << journal.status().toString();
        return commits;
    }
    static LoggedCommit read(ByteView body) {
        auto reader = CommitReader::open(body);
        EXPECT_TRUE(reader.isOk()) << reader.status().toString();
        LoggedCommit commit;
        commit.wallMs = reader->wallMs();
        CommitChange change;
        while (reader->next(&change)) {
            commit.changes.emplace_back(change.key);
        }
        ByteView event;
        while (reader->nextEvent(&event)) {
            commit.events.emplace_back(event);
        }
        EXPECT_EQ(CommitReader::hasEvents(body), !commit.events.empty());
        return commit;
    }

    testing::MemoryFileSystem disk_;
    std::unique_ptr<Store> store_ = openStore(disk_);
    TreeRef tree_ = store_->tree(2);
};

using Strings = std::vector<std::string>;

TEST_F(CommitEvents, ComeInOneRecordWithTheChanges) {
    const int64_t before = platform::wallMillis();
    put(*store_, *tree_, "without", "v");
    Txn txn(*store_, OnConflict::kFail);
    ASSERT_TRUE(txn.addEvent("begin").isOk());
    EXPECT_TRUE(txn.hasWrites());
    ASSERT_TRUE(waiting(txn, [&] { return txn.put(*tree_, "k", "v"); }).isOk());
    ASSERT_TRUE(txn.addEvent("put").isOk());
    ASSERT_TRUE(commitAndWait(txn).isOk());

    const std::vector<LoggedCommit> commits = readLog();
    ASSERT_EQ(commits.size(), 2u);
    EXPECT_EQ(commits[0].events, Strings{});
    EXPECT_EQ(commits[1].changes, Strings{"k"});
    EXPECT_EQ(commits[1].events, (Strings{"begin", "put"}));
    EXPECT_GE(commits[1].wallMs, before);
    EXPECT_LE(commits[1].wallMs, platform::wallMillis());
}

TEST_F(CommitEvents, AreDroppedByAbortAndBegin) {
    Txn txn(*store_);
    ASSERT_TRUE(txn.addEvent("aborted").isOk());
    txn.abort();
    txn.begin();
    EXPECT_FALSE(txn.hasWrites());
    ASSERT_TRUE(waiting(txn, [&] { return txn.put(*tree_, "k", "v"); }).isOk());
    ASSERT_TRUE(commitAndWait(txn).isOk());
    {
        Txn dropped(*store_);
        ASSERT_TRUE(dropped.addEvent("dropped").isOk());
    }
    const std::vector<LoggedCommit> commits = readLog();
    ASSERT_EQ(commits.size(), 1u);
    EXPECT_EQ(commits[0].events, Strings{});
}

TEST_F(CommitEvents, AnEventAloneIsACommit) {
    Txn txn(*store_);
    ASSERT_TRUE(txn.addEvent("alone").isOk());
    ASSERT_TRUE(commitAndWait(txn).isOk());
    ASSERT_TRUE(waiting(txn, [&] { return txn.waitFor(Durability::kDurable); }).isOk());
    EXPECT_GT(txn.commitLsn(), 0u);
    tree_.reset();
    store_.reset();
    disk_.crash();
    store_ = openStore(disk_);
    const std::vector<LoggedCommit> commits = readLog();
    ASSERT_EQ(commits.size(), 1u);
    EXPECT_EQ(commits[0].changes, Strings{});
    EXPECT_EQ(commits[0].events, Strings{"alone"});
}

TEST_F(CommitEvents, TooLargeOnesLeaveTheTransactionUsable) {
    Txn txn(*store_);
    EXPECT_EQ(txn.addEvent(std::string(kEventBytesMax + 1, 'e')).code(), Code::kLimit);
    ASSERT_TRUE(txn.addEvent("small").isOk());
    ASSERT_TRUE(commitAndWait(txn).isOk());
    const std::vector<LoggedCommit> commits = readLog();
    ASSERT_EQ(commits.size(), 1u);
    EXPECT_EQ(commits[0].events, Strings{"small"});
}

TEST_F(CommitEvents, OfAChainAreInItsRecords) {
    tree_.reset();
    store_.reset();
    StoreOptions options = storeOptions(disk_);
    options.recordBytesMax = 100;
    store_ = openStore(options);
    tree_ = store_->tree(2);
    Txn txn(*store_);
    Strings expected;
    for (int i = 0; i < 5; ++i) {
        expected.push_back("event " + std::string(60, static_cast<char>('a' + i)));
        ASSERT_TRUE(txn.addEvent(expected.back()).isOk());
        ASSERT_TRUE(waiting(txn, [&] { return txn.put(*tree_, "k", "v"); }).isOk());
    }
    ASSERT_TRUE(commitAndWait(txn).isOk());
    Strings found;
    const std::vector<LoggedCommit> commits = readLog();
    EXPECT_EQ(commits.size(), 5u);
    for (const LoggedCommit& commit : commits) {
        found.insert(found.end(), commit.events.begin(), commit.events.end());
    }
    EXPECT_EQ(found, expected);
    EXPECT_NE(commits.back().wallMs, 0);
}

TEST_F(CommitEvents, WithoutAJournalAreDropped) {
    testing::MemoryFileSystem disk;
    StoreOptions options = storeOptions(disk);
    options.withoutJournal = true;
    const std::unique_ptr<Store> store = openStore(options);
    Txn txn(*store);
    ASSERT_TRUE(txn.addEvent("unread").isOk());
    EXPECT_TRUE(commitAndWait(txn).isOk());
}

}  // namespace
}  // namespace freshet::engine
