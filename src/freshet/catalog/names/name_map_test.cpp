// SPDX-License-Identifier: Apache-2.0
/// NameMap against std::map, with copies that must stay unchanged.
#include "freshet/catalog/names/name_map.h"

#include "freshet/testing/sim/seed.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace freshet::catalog {
namespace {

using Model = std::map<std::pair<std::string, std::string>, CollectionRef>;

CollectionRef named(std::string db, std::string name) {
    auto collection = std::make_shared<Collection>();
    collection->db = std::move(db);
    collection->name = std::move(name);
    return collection;
}

void expectSame(const NameMap& map, const Model& model) {
    std::vector<CollectionRef> all;
    std::map<std::string, std::vector<CollectionRef>> ofDatabase;
    for (const auto& [names, collection] : model) {
        all.push_back(collection);
        ofDatabase[names.first].push_back(collection);
        EXPECT_EQ(map.find(names.first, names.second), collection);
    }
    std::vector<CollectionRef> visited;
    map.forEach([&](const CollectionRef& collection) { visited.push_back(collection); });
    EXPECT_EQ(visited, all);
    EXPECT_EQ(map.size(), all.size());
    std::vector<std::string> databases;
    for (const auto& [db, collections] : ofDatabase) {
        databases.push_back(db);
        EXPECT_TRUE(map.hasDatabase(db));
        EXPECT_EQ(map.collections(db), collections);
    }
    EXPECT_EQ(map.databases(), databases);
}

TEST(NameMap, IsWhatAMapWouldBeAndCopiesStay) {
    std::mt19937_64 random(testing::testSeed());
    const std::vector<std::string> databases{"a", "a-b", "ab", "a\1", "b", "B"};
    NameMap map;
    Model model;
    std::vector<std::pair<NameMap, Model>> copies;
    for (int i = 0; i < 6'000; ++i) {
        const std::string db = databases[random() % databases.size()];
        const std::string name = "c" + std::to_string(random() % 900);
        const bool grows = i < 4'000;
        if (random() % 10 < (grows ? 8 : 2)) {
            const CollectionRef collection = named(db, name);
            map.set(collection);
            model[{db, name}] = collection;
        } else {
            map.erase(db, name);
            model.erase({db, name});
        }
        if (i % 1'000 == 999) {
            copies.emplace_back(map, model);
        }
    }
    for (const auto& [copy, then] : copies) {
        expectSame(copy, then);
    }
    while (!model.empty()) {
        const auto [db, name] = model.begin()->first;
        map.erase(db, name);
        model.erase(model.begin());
    }
    expectSame(map, model);
    expectSame(copies.back().first, copies.back().second);
}

TEST(NameMap, WhatIsNotThereIsNotFound) {
    NameMap map;
    EXPECT_EQ(map.find("a", "b"), nullptr);
    EXPECT_FALSE(map.hasDatabase("a"));
    EXPECT_TRUE(map.databases().empty());
    EXPECT_TRUE(map.collections("a").empty());
    map.erase("a", "b");
    map.set(named("b", "x"));
    EXPECT_FALSE(map.hasDatabase("a"));
    EXPECT_FALSE(map.hasDatabase("ba"));
    EXPECT_FALSE(map.hasDatabase(""));
    EXPECT_TRUE(map.collections("a").empty());
    EXPECT_EQ(map.find("a", "x"), nullptr);
}

}  // namespace
}  // namespace freshet::catalog
