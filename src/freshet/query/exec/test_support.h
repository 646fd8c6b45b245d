// SPDX-License-Identifier: Apache-2.0
/// For the tests of plans and operations: a database on a disk in memory, driven from plain
/// threads.
#pragma once

#include "freshet/catalog/verify.h"
#include "freshet/query/cursor.h"
#include "freshet/query/match/json_for_test.h"
#include "freshet/query/predicate.h"
#include "freshet/query/write.h"
#include "freshet/testing/sim/memory_file_system.h"
#include "freshet/testing/sim/seed.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace freshet::query {

using freshet::testing::testSeed;

inline bson::OwnedDocument doc(std::string_view text) {
    return json(text);
}

/// Calls op.run() until it is done.
template <typename Op>
Status driven(Op& op) {
    Status status = op.run();
    while (status.isWouldBlock()) {
        sync::blockOn(op.token());
        status = op.run();
    }
    return status;
}

using Documents = std::vector<bson::OwnedDocument>;

inline std::vector<std::string> asText(const Documents& documents) {
    std::vector<std::string> result;
    for (const auto& document : documents) {
        result.push_back(bson::toShellText(document.view()));
    }
    return result;
}

/// Fetches one batch; ok or the error.
inline Status nextBatch(QueryCursor& cursor, size_t documentsMax, Documents* out) {
    Batch batch(documentsMax, 1u << 20);
    Status status = cursor.next(&batch);
    while (status.isWouldBlock()) {
        sync::blockOn(cursor.token());
        status = cursor.next(&batch);
    }
    std::string bytes = batch.finishArray();
    for (const bson::Element& element : bson::Document(bytes)) {
        out->emplace_back(element.document());
    }
    return status;
}

/// Everything that the cursor gives, in batches of `batchSize`, detached between them.
inline StatusOr<Documents> drained(QueryCursor& cursor, size_t batchSize = 1'000) {
    Documents result;
    while (!cursor.isExhausted()) {
        cursor.attach();
        Status status = nextBatch(cursor, batchSize, &result);
        cursor.detach();
        FRESHET_RETURN_IF_ERROR(status);
    }
    return result;
}

/// A store, a catalog and one collection, db.c.
class TestCollection {
public:
    TestCollection() {
        engine::StoreOptions options;
        options.files = &disk_;
        options.directory = "/db";
        options.onFatal = [](const Status& status) { ADD_FAILURE() << status.toString(); };
        auto store = engine::Store::open(options);
        EXPECT_TRUE(store.isOk()) << store.status().toString();
        store_ = std::move(store).value();
        auto catalog = catalog::Catalog::open(*store_, compilePredicate);
        EXPECT_TRUE(catalog.isOk()) << catalog.status().toString();
        catalog_ = std::move(catalog).value();
        change(catalog_->createCollection("db", "c", bson::OwnedDocument(), true));
    }

    engine::Store& engine() { return *store_; }
    catalog::Catalog& catalog() { return *catalog_; }
    catalog::CollectionRef get() { return catalog_->find("db", "c"); }

    void change(const std::unique_ptr<catalog::Change>& change) {
        Status status = driven(*change);
        EXPECT_TRUE(status.isOk()) << status.toString();
    }
    void addIndex(std::string_view key, bool unique = false, bool sparse = false) {
        catalog::IndexRequest request;
        request.key = doc(key);
        request.unique = unique;
        request.sparse = sparse;
        catalog::IndexCounts counts;
        change(catalog_->createIndexes("db", "c", {request}, &counts));
    }
    void dropIndex(const std::string& name) {
        catalog::IndexCounts counts;
        change(catalog_->dropIndexes("db", "c", {name}, &counts));
    }

    Status insert(bson::Document document) {
        auto op = makeInsert(*store_, get(), document);
        return op.isOk() ? driven(**op) : op.status();
    }
    Status insert(std::string_view json) { return insert(doc(json).view()); }
    void insertNumbers(int count) {
        for (int i = 0; i < count; ++i) {
            bson::Builder builder;
            builder.add("_id", i).add("a", i);
            ASSERT_TRUE(insert(bson::OwnedDocument(builder.finish()).view()).isOk());
        }
    }

    StatusOr<WriteResult> update(UpdateRequest request) {
        FRESHET_ASSIGN_OR_RETURN(auto op, makeUpdate(*store_, get(), std::move(request)));
        FRESHET_RETURN_IF_ERROR(driven(*op));
        return op->result();
    }
    StatusOr<WriteResult> update(std::string_view filter,
                                 std::string_view update,
                                 bool multi = false,
                                 bool upsert = false) {
        UpdateRequest request;
        request.filter = doc(filter);
        request.update = doc(update);
        request.multi = multi;
        request.upsert = upsert;
        return this->update(std::move(request));
    }
    StatusOr<WriteResult> remove(std::string_view filter, bool justOne = false) {
        DeleteRequest request;
        request.filter = doc(filter);
        request.justOne = justOne;
        FRESHET_ASSIGN_OR_RETURN(auto op, makeDelete(*store_, get(), std::move(request)));
        FRESHET_RETURN_IF_ERROR(driven(*op));
        return op->result();
    }

    StatusOr<Documents> find(FindRequest request, size_t batchSize = 1'000) {
        FRESHET_ASSIGN_OR_RETURN(auto cursor, makeFind(*store_, get(), std::move(request)));
        return drained(*cursor, batchSize);
    }
    std::vector<std::string> find(std::string_view filter, std::string_view sort = "{}") {
        FindRequest request;
        request.filter = doc(filter);
        request.sort = doc(sort);
        auto found = find(std::move(request));
        EXPECT_TRUE(found.isOk()) << found.status().toString();
        return found.isOk() ? asText(*found) : std::vector<std::string>();
    }

    void expectValid() {
        auto report = catalog::verifyCollection(*store_, get());
        ASSERT_TRUE(report.isOk()) << report.status().toString();
        EXPECT_TRUE(report->isValid()) << report->problems.front();
    }

private:
    testing::MemoryFileSystem disk_;
    std::unique_ptr<engine::Store> store_;
    std::unique_ptr<catalog::Catalog> catalog_;
};

}  // namespace freshet::query
