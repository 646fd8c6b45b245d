// SPDX-License-Identifier: Apache-2.0
/// Events wake the streams that they concern. The others go on behind what the hub has read.
#include "freshet/command/stream/change_hub.h"

#include "freshet/command/run/fixture_test.h"

namespace freshet::command {
namespace {

class ChangeHubTest : public CommandTest {
protected:
    using Listener = std::unique_ptr<ChangeHub::Listener>;

    ChangeHub::Place now() const { return {store_->journal().tailLsn(), 0}; }
    const Watch& watch(std::string db, std::string collection) {
        return *watches_.emplace_back(std::make_unique<Watch>(
            WatchedPlace{std::move(db), std::move(collection)}, ChangeOptions()));
    }
    /// Of what is committed from now on.
    Listener listen(std::string db, std::string collection) {
        return hub_.listen(watch(std::move(db), std::move(collection)), now());
    }
    void insert(const std::string& db, const std::string& collection) {
        run("{\"insert\": \"" + collection + R"(", "documents": [{}]})", db);
    }
    /// Returns when the hub has read all that was written before.
    void readAll() {
        const Listener last = listen("last", "");
        insert("last", "c");
        sync::blockOn(last->token());
    }

    std::vector<std::unique_ptr<Watch>> watches_;
    ChangeHub hub_{store_->journal(), 0};
};

TEST_F(ChangeHubTest, WakesThoseWhomAnEventConcerns) {
    insert("a", "c");
    const Listener collection = listen("a", "c");
    const Listener database = listen("a", "");
    const Listener everything = listen("", "");
    const Listener other = listen("a", "d");
    const Listener prefix = listen("a", "cc");
    const Listener own = listen("local", "");
    const ChangeHub::Place before = now();
    insert("a", "c");
    for (const Listener* woken : {&collection, &database, &everything}) {
        sync::blockOn((*woken)->token());
        EXPECT_GE((*woken)->clean().position, before.position);
        EXPECT_LT((*woken)->clean().position, now().position);
        EXPECT_NE((*woken)->clean().timestamp, 0u);
    }
    readAll();
    for (const Listener* waiting : {&other, &prefix, &own}) {
        EXPECT_FALSE((*waiting)->token().isDone());
        EXPECT_GT((*waiting)->clean().position, collection->clean().position);
    }
}

TEST_F(ChangeHubTest, ARenameConcernsItsTargetToo) {
    insert("a", "c");
    const Listener target = listen("b", "d");
    run(R"({"renameCollection": "a.c", "to": "b.d"})", "admin");
    sync::blockOn(target->token());
    EXPECT_LT(target->clean().position, now().position);
}

TEST_F(ChangeHubTest, EventsThatTheStreamDoesNotShowWakeNobody) {
    insert("a", "c");
    const Listener plain = listen("a", "c");
    ChangeOptions expanded;
    expanded.showExpandedEvents = true;
    const Watch more({"a", "c"}, expanded);
    const Listener all = hub_.listen(more, now());
    run(R"({"createIndexes": "c", "indexes": [{"key": {"x": 1}, "name": "x"}]})", "a");
    sync::blockOn(all->token());
    EXPECT_FALSE(plain->token().isDone());
}

TEST_F(ChangeHubTest, StreamsOfOnePlaceAreToldApartByTheValueOfAField) {
    run(R"({"insert": "c", "documents": [{"_id": 0}]})", "a");
    const std::vector<std::string> matches = {
        R"({"operationType": "delete"})",
        R"({"fullDocument.user": 1, "fullDocument.x": {"$gt": 5}})",
        R"({"x": 1, "fullDocument.user": {"$eq": 2}})",
        R"({"documentKey._id": "k"})",
        R"({"fullDocument.tags.name": "t"})",
        R"({"ns.coll": "d"})",
        R"({"fullDocument.user": {"$gte": 1}})"};
    std::vector<std::unique_ptr<Watch>> watches;
    std::vector<Listener> listeners;
    for (const std::string& match : matches) {
        watches.push_back(
            std::make_unique<Watch>(WatchedPlace{"a", "c"},
                                    ChangeOptions(),
                                    eventKeyOf(json("{\"$match\": " + match + "}").view())));
        listeners.push_back(hub_.listen(*watches.back(), now()));
    }
    const auto woken = [&] {
        readAll();
        std::string numbers;
        for (size_t i = 0; i < listeners.size(); ++i) {
            if (listeners[i] != nullptr && listeners[i]->token().isDone()) {
                numbers += std::to_string(i);
                listeners[i].reset();
            }
        }
        return numbers;
    };
    run(R"({"insert": "c", "documents": [{"_id": 1, "user": 3}]})", "a");
    EXPECT_EQ(woken(), "6");  // a condition that is no key is for the stream to test
    run(R"({"insert": "c", "documents": [{"_id": 2, "user": {"$numberLong": "1"}}]})", "a");
    EXPECT_EQ(woken(), "1");
    run(R"({"update": "c", "updates": [{"q": {"_id": 1}, "u": {"$set": {"user": 2}}}]})", "a");
    EXPECT_EQ(woken(), "");  // its event has no document
    run(R"({"insert": "c", "documents": [{"_id": 3, "tags": [{"name": "other"}]}]})", "a");
    EXPECT_EQ(woken(), "4");  // an array has several values
    run(R"({"delete": "c", "deletes": [{"q": {"_id": 3}, "limit": 1}]})", "a");
    EXPECT_EQ(woken(), "0");
    run(R"({"insert": "c", "documents": [{"_id": "k"}]})", "a");
    EXPECT_EQ(woken(), "3");
    run(R"({"drop": "c"})", "a");
    EXPECT_EQ(woken(), "25");
}

TEST_F(ChangeHubTest, AStreamThatLooksUpIsWokenByUpdates) {
    run(R"({"insert": "c", "documents": [{"_id": 0}]})", "a");
    ChangeOptions lookup;
    lookup.fullDocument = FullDocument::kUpdateLookup;
    const auto key = eventKeyOf(json(R"({"$match": {"fullDocument.user": 2}})").view());
    const Watch plain({"a", "c"}, {}, key);
    const Watch looking({"a", "c"}, lookup, key);
    const Listener without = hub_.listen(plain, now());
    const Listener with = hub_.listen(looking, now());
    run(R"({"update": "c", "updates": [{"q": {"_id": 0}, "u": {"$set": {"user": 2}}}]})", "a");
    sync::blockOn(with->token());
    EXPECT_FALSE(without->token().isDone());
}

TEST_F(ChangeHubTest, WhatIsNoKey) {
    for (const char* stage : {R"({"$match": {"fullDocument.a": {"$gt": 1}}})",
                              R"({"$match": {"fullDocument.a": null}})",
                              R"({"$match": {"fullDocument.a": [1]}})",
                              R"({"$match": {"fullDocument.a": {"b": 1}}})",
                              R"({"$match": {"fullDocument.a": {"$eq": 1, "$gt": 0}}})",
                              R"({"$match": {"updateDescription.updatedFields.a": 1}})",
                              R"({"$match": {"$or": [{"operationType": "insert"}]}})",
                              R"({"$project": {"operationType": 1}})",
                              R"({"$match": 1})"}) {
        EXPECT_FALSE(eventKeyOf(json(stage).view()).has_value()) << stage;
    }
}

TEST_F(ChangeHubTest, WhoeverIsBehindReadsOnFirst) {
    const ChangeHub::Place before = now();
    insert("a", "c");
    readAll();
    EXPECT_EQ(hub_.listen(watch("a", "c"), before), nullptr);
    EXPECT_NE(listen("a", "c"), nullptr);
}

TEST_F(ChangeHubTest, WhatWasWrittenBeforeTheHubBeganIsSeen) {
    const ChangeHub::Place before = now();
    insert("a", "c");
    run(R"({"fsync": 1})", "admin");
    const Listener listener = hub_.listen(watch("a", "c"), before);
    sync::blockOn(listener->token());
    EXPECT_GE(listener->clean().position, before.position);
}

TEST_F(ChangeHubTest, SeatsComeBack) {
    ChangeHub hub(store_->journal(), 1);
    auto seat = hub.takeSeat();
    EXPECT_NE(seat, nullptr);
    EXPECT_EQ(hub.takeSeat(), nullptr);
    seat.reset();
    EXPECT_NE(hub.takeSeat(), nullptr);
}

TEST_F(ChangeHubTest, AfterAFailureEachReadsForItself) {
    const Listener listener = listen("a", "c");
    EXPECT_TRUE(store_->journal().close().isOk());
    sync::blockOn(listener->token());
    EXPECT_EQ(listen("a", "c"), nullptr);
    EXPECT_NE(hub_.takeSeat(), nullptr);
}

}  // namespace
}  // namespace freshet::command
