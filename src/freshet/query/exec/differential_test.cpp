// SPDX-License-Identifier: Apache-2.0
/// Random documents with arrays, random indexes, filters and sorts: what a plan finds is what
/// testing every document finds. Random updates and deletes: what they leave is what applying them
/// to every document leaves, and the indexes agree.
#include "freshet/query/exec/test_support.h"
#include "freshet/query/transform.h"
#include "freshet/query/update.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

namespace freshet::query {
namespace {

class Generator {
public:
    explicit Generator(uint64_t seed) : random_(seed) {}

    uint64_t below(uint64_t n) { return random_() % n; }

    bson::OwnedDocument document(int32_t id) {
        bson::Builder builder;
        builder.add("_id", id);
        for (const char* name : {"a", "b"}) {
            if (below(5) != 0) {
                addValue(&builder, name, 2);
            }
        }
        if (below(4) != 0) {
            if (below(3) == 0) {
                auto list = builder.array("c");
                for (uint64_t i = below(4); i > 0; --i) {
                    if (below(5) == 0) {
                        addValue(&list, list.nextIndex(), 0);
                    } else {
                        auto sub = list.object(list.nextIndex());
                        addPair(&sub);
                    }
                }
            } else {
                auto sub = builder.object("c");
                addPair(&sub);
            }
        }
        return bson::OwnedDocument(builder.finish());
    }

    /// A filter on one to three fields, sometimes below $or.
    bson::OwnedDocument filter() {
        bson::Builder builder;
        addFilter(&builder, 2);
        return bson::OwnedDocument(builder.finish());
    }

    bson::OwnedDocument sort() {
        bson::Builder builder;
        std::vector<std::string> paths{"a", "b", "c.d", "c.e", "_id"};
        std::shuffle(paths.begin(), paths.end(), random_);
        for (uint64_t i = below(3); i > 0; --i) {
            builder.add(paths[i], below(2) == 0 ? 1 : -1);
        }
        return bson::OwnedDocument(builder.finish());
    }

    bson::OwnedDocument update() {
        bson::Builder builder;
        if (below(3) == 0) {
            auto unset = builder.object("$unset");
            unset.add("b", 1);
        }
        auto set = builder.object("$set");
        addValue(&set, below(2) == 0 ? "a" : "x", 2);
        set.close();
        return bson::OwnedDocument(builder.finish());
    }

private:
    void addPair(bson::Builder* builder) {
        for (const char* name : {"d", "e"}) {
            if (below(4) != 0) {
                addValue(builder, name, 1);
            }
        }
    }

    void addValue(bson::Builder* builder, std::string_view name, int arrays) {
        switch (below(12)) {
            case 0:
                builder->add(name, bson::Null{});
                break;
            case 1:
                builder->add(name, static_cast<double>(below(12)) / 2);
                break;
            case 2:
            case 3:
                builder->add(name, std::string(1 + below(2), static_cast<char>('a' + below(4))));
                break;
            case 4:
                builder->add(name, below(2) == 0);
                break;
            case 5: {
                auto sub = builder->object(name);
                sub.add("d", static_cast<int32_t>(below(4)));
                break;
            }
            case 6:
            case 7:
                if (arrays > 0) {
                    auto list = builder->array(name);
                    for (uint64_t i = below(4); i > 0; --i) {
                        addValue(&list, list.nextIndex(), arrays - 1);
                    }
                    break;
                }
                [[fallthrough]];
            default:
                builder->add(name, static_cast<int32_t>(below(8)));
        }
    }

    void addFilter(bson::Builder* builder, int depth) {
        static constexpr const char* kPaths[] = {"a", "b", "c.d", "c.e", "c", "_id"};
        uint64_t first = below(std::size(kPaths));
        for (uint64_t i = 0; i <= below(3); ++i) {
            addPredicate(builder, kPaths[(first + i) % std::size(kPaths)]);
        }
        if (depth > 0 && below(4) == 0) {
            auto list = builder->array(below(3) == 0 ? "$and" : "$or");
            for (uint64_t i = 0; i <= below(3); ++i) {
                auto branch = list.object(list.nextIndex());
                addFilter(&branch, depth - 1);
            }
        }
    }

    void addPredicate(bson::Builder* builder, std::string_view path) {
        if (below(3) == 0) {
            addValue(builder, path, 1);
            return;
        }
        auto condition = builder->object(path);
        static constexpr const char* kCompare[] = {"$gt", "$gte", "$lt", "$lte", "$eq", "$ne"};
        switch (below(8)) {
            case 0: {
                auto list = condition.array(below(4) == 0 ? "$nin" : "$in");
                for (uint64_t i = below(4); i > 0; --i) {
                    addValue(&list, list.nextIndex(), below(4) == 0 ? 1 : 0);
                }
                break;
            }
            case 1:
                condition.add("$exists", below(2) == 0);
                break;
            case 2:
                condition.add("$regex", below(2) == 0 ? "^a" : "^ab?");
                break;
            case 3: {
                auto match = condition.object("$elemMatch");
                if (path == "c" || below(4) == 0) {
                    addPredicate(&match, "d");
                    addPredicate(&match, "e");
                } else {
                    addValue(&match, "$gte", 0);
                    addValue(&match, "$lte", 0);
                }
                break;
            }
            case 4:
            case 5: {
                addValue(&condition, "$gte", 0);
                addValue(&condition, "$lt", 0);
                break;
            }
            default:
                addValue(&condition, kCompare[below(std::size(kCompare))], 1);
        }
    }

    std::mt19937_64 random_;
};

/// All documents, by _id, as they should be.
using Model = std::map<int32_t, bson::OwnedDocument>;

int32_t idOf(const bson::OwnedDocument& document) {
    return document.view().find("_id").int32Value();
}

class Differential : public ::testing::Test {
protected:
    void addIndexes() {
        static constexpr const char* kKeys[] = {R"({"a": 1})",
                                                R"({"a": -1})",
                                                R"({"b": 1})",
                                                R"({"a": 1, "b": -1})",
                                                R"({"c.d": 1})",
                                                R"({"c.d": 1, "c.e": -1})",
                                                R"({"c": -1})",
                                                R"({"b": -1, "c.e": 1})",
                                                R"({"c.e": -1, "a": 1})"};
        for (const char* key : kKeys) {
            if (generator_.below(3) == 0) {
                catalog::IndexRequest request;
                request.key = doc(key);
                request.sparse = generator_.below(3) == 0;
                if (!request.sparse && generator_.below(2) == 0) {
                    static constexpr const char* kPartial[] = {
                        R"({"partialFilterExpression": {"a": {"$gt": 3}}})",
                        R"({"partialFilterExpression": {"b": {"$exists": true}}})",
                        R"({"partialFilterExpression": {"c.d": {"$lte": 5}}})",
                        R"({"partialFilterExpression": {"$or": [{"a": 1}, {"b": {"$gt": "b"}}]}})",
                        R"({"hidden": true})"};
                    request.spec = doc(kPartial[generator_.below(std::size(kPartial))]);
                }
                catalog::IndexCounts counts;
                auto change = collection_.catalog().createIndexes("db", "c", {request}, &counts);
                // Parallel arrays in the documents may forbid one; then it is not there.
                Status status = driven(*change);
                EXPECT_TRUE(status.isOk() || status.reason() == Reason::kParallelArrays ||
                            status.reason() == Reason::kIndexKeySpecsConflict ||
                            status.reason() == Reason::kIndexOptionsConflict)
                    << status.toString();
            }
        }
    }

    void addDocuments(int count) {
        for (int i = 0; i < count; ++i) {
            int32_t id = static_cast<int32_t>(model_.size());
            bson::OwnedDocument document = generator_.document(id);
            Status status = collection_.insert(document.view());
            if (status.isOk()) {
                model_[id] = document;
            } else {
                EXPECT_EQ(status.reason(), Reason::kParallelArrays) << status.toString();
                --i;
            }
        }
    }

    /// What a find must give, in no order.
    std::vector<int32_t> expected(const bson::OwnedDocument& filter) {
        auto matcher = Matcher::compile(filter.view());
        EXPECT_TRUE(matcher.isOk()) << matcher.status().toString();
        std::vector<int32_t> ids;
        for (const auto& [id, document] : model_) {
            if ((*matcher)->matches(document.view())) {
                ids.push_back(id);
            }
        }
        return ids;
    }

    std::string sortKey(const bson::OwnedDocument& sort, const bson::OwnedDocument& document) {
        auto pattern = SortPattern::compile(sort.view());
        EXPECT_TRUE(pattern.isOk());
        return pattern->keyOf(document.view());
    }

    void checkFind() {
        FindRequest request;
        request.filter = generator_.filter();
        request.sort = generator_.sort();
        request.limit =
            generator_.below(3) == 0 ? static_cast<int64_t>(1 + generator_.below(9)) : 0;
        bson::OwnedDocument filter = request.filter;
        bson::OwnedDocument sort = request.sort;
        int64_t limit = request.limit;
        std::vector<int32_t> ids = expected(filter);
        auto cursor = makeFind(collection_.engine(), collection_.get(), std::move(request));
        ASSERT_TRUE(cursor.isOk()) << cursor.status().toString();
        auto found = drained(**cursor, 1 + generator_.below(20));
        ASSERT_TRUE(found.isOk()) << found.status().toString();
        std::string what = bson::toShellText(filter.view()) + " sort " +
                           bson::toShellText(sort.view()) + " limit " + std::to_string(limit) +
                           " plan " + bson::toShellText((*cursor)->describePlan().view());
        size_t wanted = limit == 0 ? ids.size() : std::min<size_t>(ids.size(), size_t(limit));
        ASSERT_EQ(found->size(), wanted) << what;
        checkCount(filter, ids.size());
        std::vector<std::string> keys;
        for (int32_t id : ids) {
            keys.push_back(sort.view().isEmpty() ? "" : sortKey(sort, model_[id]));
        }
        std::sort(keys.begin(), keys.end());
        std::vector<int32_t> got;
        for (size_t i = 0; i < found->size(); ++i) {
            int32_t id = idOf((*found)[i]);
            got.push_back(id);
            ASSERT_EQ((*found)[i].bytes(), model_[id].bytes()) << what;
            if (!sort.view().isEmpty()) {
                ASSERT_EQ(sortKey(sort, (*found)[i]), keys[i]) << what;
            }
        }
        std::sort(got.begin(), got.end());
        ASSERT_EQ(std::adjacent_find(got.begin(), got.end()), got.end()) << what;
        ASSERT_TRUE(std::includes(ids.begin(), ids.end(), got.begin(), got.end())) << what;
    }

    /// A count may do without the documents.
    void checkCount(const bson::OwnedDocument& filter, size_t wanted) {
        FindRequest request;
        request.filter = filter;
        auto op = CountOp::make(collection_.engine(), collection_.get(), std::move(request));
        ASSERT_TRUE(op.isOk()) << op.status().toString();
        ASSERT_TRUE(driven(**op).isOk());
        ASSERT_EQ((*op)->count(), static_cast<int64_t>(wanted))
            << "count " << bson::toShellText(filter.view());
    }

    void checkUpdate() {
        bson::OwnedDocument filter = generator_.filter();
        bson::OwnedDocument update = generator_.update();
        std::vector<int32_t> ids = expected(filter);
        UpdateRequest request;
        request.filter = filter;
        request.update = update;
        request.multi = true;
        auto result = collection_.update(std::move(request));
        std::string what =
            bson::toShellText(filter.view()) + " update " + bson::toShellText(update.view());
        if (!result.isOk()) {
            ASSERT_EQ(result.status().reason(), Reason::kParallelArrays) << what;
            reload();
            return;
        }
        ASSERT_EQ(result->matched, static_cast<int64_t>(ids.size())) << what;
        auto program = UpdateProgram::compile(update, bson::Document());
        ASSERT_TRUE(program.isOk());
        int64_t modified = 0;
        for (int32_t id : ids) {
            bool changed = false;
            auto after = (*program)->apply(model_[id].view(), nullptr, &changed);
            ASSERT_TRUE(after.isOk()) << after.status().toString();
            modified += changed ? 1 : 0;
            model_[id] = *after;
        }
        ASSERT_EQ(result->modified, modified) << what;
        checkAll(what);
    }

    void checkRemove() {
        bson::OwnedDocument filter = generator_.filter();
        std::vector<int32_t> ids = expected(filter);
        if (ids.size() > 20) {
            return;  // keep enough to find
        }
        DeleteRequest request;
        request.filter = filter;
        auto op = makeDelete(collection_.engine(), collection_.get(), std::move(request));
        ASSERT_TRUE(op.isOk());
        ASSERT_TRUE(driven(**op).isOk());
        for (int32_t id : ids) {
            model_.erase(id);
        }
        checkAll("remove " + bson::toShellText(filter.view()));
    }

    /// The collection holds what the model holds.
    void checkAll(const std::string& what) {
        auto found = collection_.find(FindRequest());
        ASSERT_TRUE(found.isOk());
        ASSERT_EQ(found->size(), model_.size()) << what;
        for (const auto& document : *found) {
            ASSERT_EQ(document.bytes(), model_[idOf(document)].bytes()) << what;
        }
    }

    /// After an update that stopped half-way: the collection is right by definition.
    void reload() {
        auto found = collection_.find(FindRequest());
        ASSERT_TRUE(found.isOk());
        ASSERT_EQ(found->size(), model_.size());
        for (const auto& document : *found) {
            model_[idOf(document)] = document;
        }
    }

    TestCollection collection_;
    Generator generator_{testSeed()};
    Model model_;
};

TEST_F(Differential, PlansFindWhatTestingEveryDocumentFinds) {
    addIndexes();
    addDocuments(150);
    addIndexes();
    for (int i = 0; i < 1'500 && !HasFatalFailure(); ++i) {
        checkFind();
    }
    collection_.expectValid();
}

TEST_F(Differential, WritesLeaveWhatTheyShould) {
    addDocuments(150);
    addIndexes();
    for (int i = 0; i < 150 && !HasFatalFailure(); ++i) {
        checkUpdate();
        if (i % 5 == 0 && !HasFatalFailure()) {
            checkRemove();
        }
        checkFind();
    }
    collection_.expectValid();
}

}  // namespace
}  // namespace freshet::query
