// SPDX-License-Identifier: Apache-2.0
/// For the tests of catalog: a database on a disk in memory, changes and document writes driven
/// from plain threads.
#pragma once

#include "freshet/bson/json.h"
#include "freshet/catalog/catalog.h"
#include "freshet/catalog/documents.h"
#include "freshet/catalog/gate.h"
#include "freshet/catalog/repair.h"
#include "freshet/catalog/verify.h"
#include "freshet/testing/sim/memory_file_system.h"
#include "freshet/testing/sim/seed.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace freshet::catalog {

using freshet::testing::testSeed;

inline bson::OwnedDocument doc(std::string_view json) {
    auto parsed = bson::fromJson(json);
    EXPECT_TRUE(parsed.isOk()) << json << ": " << parsed.status().toString();
    return parsed.isOk() ? *parsed : bson::OwnedDocument();
}

inline IndexRequest indexOn(std::string_view key, bool unique = false, bool sparse = false) {
    IndexRequest request;
    request.key = doc(key);
    request.unique = unique;
    request.sparse = sparse;
    return request;
}

/// A store and a catalog that can be closed and opened again.
class Database {
public:
    Database() { open(); }

    void open() {
        engine::StoreOptions options;
        options.files = &disk_;
        options.directory = "/db";
        options.onFatal = [this](const Status& status) {
            EXPECT_TRUE(hasCrashed_.load(sync::kRelaxed)) << status.toString();
        };
        auto store = engine::Store::open(options);
        ASSERT_TRUE(store.isOk()) << store.status().toString();
        store_ = std::move(store).value();
        auto catalog = Catalog::open(*store_);
        ASSERT_TRUE(catalog.isOk()) << catalog.status().toString();
        catalog_ = std::move(catalog).value();
    }

    void reopen() {
        catalog_.reset();
        ASSERT_TRUE(store_->close().isOk());
        store_.reset();
        open();
    }

    /// Closes, repairs and opens. `again`: a first repair is cut short before the catalog's part.
    std::vector<std::string> repair(bool again) {
        catalog_.reset();
        EXPECT_TRUE(store_->close().isOk());
        std::vector<std::string> report;
        for (int turn = again ? 0 : 1; turn < 2; ++turn) {
            store_.reset();
            engine::StoreOptions options;
            options.files = &disk_;
            options.directory = "/db";
            options.repair = true;
            auto store = engine::Store::open(options);
            EXPECT_TRUE(store.isOk()) << store.status().toString();
            store_ = std::move(store).value();
        }
        auto repaired = repairCollections(*store_, {});
        EXPECT_TRUE(repaired.isOk()) << repaired.status().toString();
        EXPECT_TRUE(store_->finishRepair().isOk());
        EXPECT_TRUE(store_->close().isOk());
        store_.reset();
        open();
        return repaired.isOk() ? *repaired : std::vector<std::string>();
    }

    /// The power fails: what was not synced is lost, entirely or in part. Then it starts again.
    void crash(uint64_t seed) {
        // Relaxed: the journal's threads notice only through the disk, if at all.
        hasCrashed_.store(true, sync::kRelaxed);
        seed % 2 == 0 ? disk_.crash() : disk_.crashKeepingSome(seed);
        catalog_.reset();
        store_.reset();
        hasCrashed_.store(false, sync::kRelaxed);
        open();
    }

    engine::Store& engine() { return *store_; }
    testing::MemoryFileSystem& disk() { return disk_; }
    Catalog& catalog() { return *catalog_; }
    CollectionRef find(std::string_view name) { return catalog_->find("db", name); }

    static Status run(Change& change) {
        Status status = change.run();
        while (status.isWouldBlock()) {
            sync::blockOn(change.token());
            status = change.run();
        }
        return status;
    }
    static Status run(const std::unique_ptr<Change>& change) { return run(*change); }

    template <typename Call>
    static Status drive(engine::Txn& txn, Call call) {
        Status status = call();
        while (status.isWouldBlock()) {
            sync::blockOn(txn.token());
            status = call();
        }
        return status;
    }

    CollectionRef create(const std::string& name) {
        Status status = run(catalog_->createCollection("db", name, bson::OwnedDocument(), true));
        EXPECT_TRUE(status.isOk()) << status.toString();
        return find(name);
    }

    Status createIndexes(const std::string& name, std::vector<IndexRequest> requests) {
        IndexCounts counts;
        return run(catalog_->createIndexes("db", name, std::move(requests), &counts));
    }

    /// Runs `body(txn, writer, collection, &before)` inside the gate until it and its commit
    /// succeed or fail for good.
    template <typename Body>
    Status write(const std::string& name,
                 Body body,
                 engine::Durability durability = engine::Durability::kNoSync) {
        for (;;) {
            GatePass pass;
            CollectionRef collection = enter(name, &pass);
            if (collection == nullptr) {
                return Status(Code::kNotFound, "no collection");
            }
            engine::Txn txn(*store_);
            DocumentWriter writer(txn, collection);
            std::string before;  // of this attempt
            Status status = body(txn, writer, *collection, &before);
            while (status.isWouldBlock()) {
                sync::blockOn(writer.token());
                status = body(txn, writer, *collection, &before);
            }
            if (status.isOk()) {
                status = drive(txn, [&] { return txn.commit(); });
            }
            if (status.isOk()) {
                return drive(txn, [&] { return txn.waitFor(durability); });
            }
            if (status.code() != Code::kConflict) {
                return status;
            }
        }
    }

    Status insert(const std::string& name,
                  const bson::OwnedDocument& document,
                  engine::Durability durability = engine::Durability::kNoSync) {
        RecordId id = 0;
        auto body = [&](engine::Txn&, DocumentWriter& writer, const Collection&, std::string*) {
            return writer.insert(document.view(), &id);
        };
        return write(name, body, durability);
    }
    Status insert(const std::string& name, std::string_view json) {
        return insert(name, doc(json));
    }

    Status update(const std::string& name, RecordId id, const bson::OwnedDocument& after) {
        return write(name,
                     [&](engine::Txn& txn,
                         DocumentWriter& writer,
                         const Collection& c,
                         std::string* before) {
                         FRESHET_RETURN_IF_ERROR(readAgain(txn, c, id, before));
                         return writer.update(id, bson::Document(*before), after.view());
                     });
    }

    Status remove(const std::string& name, RecordId id) {
        return write(name,
                     [&](engine::Txn& txn,
                         DocumentWriter& writer,
                         const Collection& c,
                         std::string* before) {
                         FRESHET_RETURN_IF_ERROR(readAgain(txn, c, id, before));
                         return writer.remove(id, bson::Document(*before));
                     });
    }

    VerifyReport verify(const std::string& name) {
        auto report = verifyCollection(*store_, find(name));
        EXPECT_TRUE(report.isOk()) << report.status().toString();
        return report.isOk() ? *report : VerifyReport();
    }

    void expectValid(const std::string& name) {
        VerifyReport report = verify(name);
        EXPECT_TRUE(report.isValid()) << report.problems.front();
        for (const auto& index : report.indexes) {
            EXPECT_EQ(index.entries, index.expected) << index.name;
        }
    }

private:
    /// A writer that has let others run is called again with the same arguments, although it may
    /// already have removed the document.
    static Status readAgain(engine::Txn& txn,
                            const Collection& collection,
                            RecordId id,
                            std::string* before) {
        std::string now;
        const Status status = readDocument(txn, collection, id, &now);
        if (status.isOk()) {
            *before = std::move(now);
        }
        return status.code() == Code::kNotFound && !before->empty() ? Status::ok() : status;
    }

    CollectionRef enter(const std::string& name, GatePass* pass) {
        for (;;) {
            CollectionRef collection = find(name);
            if (collection == nullptr) {
                return nullptr;
            }
            sync::WaitToken token;
            Status status = pass->enter(collection->gate, &token);
            if (status.isWouldBlock()) {
                sync::blockOn(token);
            } else if (status.isOk()) {
                CollectionRef newer = newerDescription(*collection);
                return newer == nullptr ? collection : newer;
            }
        }
    }

    testing::MemoryFileSystem disk_;
    sync::Atomic<bool> hasCrashed_{false};
    std::unique_ptr<engine::Store> store_;
    std::unique_ptr<Catalog> catalog_;
};

}  // namespace freshet::catalog
