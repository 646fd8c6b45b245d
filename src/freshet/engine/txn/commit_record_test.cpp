// SPDX-License-Identifier: Apache-2.0
/// COMMIT record bodies: round trip, layout, and all kinds of damage.
#include "freshet/engine/txn/commit_record.h"

#include <gtest/gtest.h>

#include <vector>

namespace freshet::engine {
namespace {

constexpr int64_t kWallMs = 0x0102030405060708;

CommitRecordWriter sampleWriter() {
    CommitRecordWriter writer;
    writer.add(7, CommitOp::kPut, "key", "value");
    writer.add(9, CommitOp::kDelete, "gone", "");
    writer.add(7, CommitOp::kPut, "", std::string("\0x", 2));
    return writer;
}

std::string onlyBody(CommitRecordWriter writer) {
    writer.finish(kWallMs);
    EXPECT_EQ(writer.bodiesLeft(), 1u);
    std::string body = writer.takeBody(0);
    EXPECT_EQ(writer.bodiesLeft(), 0u);
    return body;
}

std::string sample() {
    return onlyBody(sampleWriter());
}

constexpr journal::Lsn kFirst = 0x1122334455;

/// A chain of three records, the second one with an event.
std::vector<std::string> sampleChain() {
    CommitRecordWriter writer(kCommitHeaderBytes + 2 * (kCommitOpBytes + 2));
    writer.add(7, CommitOp::kPut, "a", "1");
    writer.add(7, CommitOp::kPut, "b", "2");
    writer.add(8, CommitOp::kPut, "c", "3");
    writer.addEvent("event");
    writer.add(8, CommitOp::kDelete, "d", "");
    writer.finish(kWallMs);
    std::vector<std::string> bodies;
    while (writer.bodiesLeft() != 0) {
        bodies.push_back(writer.takeBody(kFirst));
    }
    return bodies;
}

std::string sampleWithEvents() {
    CommitRecordWriter writer = sampleWriter();
    writer.addEvent("first");
    writer.addEvent("");
    writer.addEvent("third");
    return onlyBody(std::move(writer));
}

TEST(CommitRecord, LargeDocumentsAreNotHeldTwice) {
    const std::string large(16 << 20, 'x');
    for (const std::string& event : {std::string(100, 'e'), large}) {
        CommitRecordWriter writer;
        writer.add(7, CommitOp::kPut, "key", large);
        writer.addEvent(event);
        const std::string body = onlyBody(std::move(writer));
        EXPECT_LT(body.capacity(), large.size() + event.size() + 4096);
    }
}

std::vector<std::string> read(ByteView body, Status* status) {
    std::vector<std::string> found;
    auto reader = CommitReader::open(body);
    *status = reader.status();
    if (!reader.isOk()) {
        return found;
    }
    CommitChange change;
    const uint32_t changes = reader->changes();
    while (reader->next(&change)) {
        found.push_back(std::to_string(change.tree) + (change.op == CommitOp::kPut ? "+" : "-") +
                        std::string(change.key) + "=" + std::string(change.value));
    }
    EXPECT_EQ(found.size(), changes);
    ByteView event;
    while (reader->nextEvent(&event)) {
        found.push_back("event " + std::string(event));
    }
    return found;
}

TEST(CommitRecord, RoundTrip) {
    Status status;
    const std::vector<std::string> expected = {
        "7+key=value", "9-gone=", "7+=" + std::string("\0x", 2)};
    EXPECT_EQ(read(sample(), &status), expected);
    EXPECT_TRUE(status.isOk()) << status.toString();
}

TEST(CommitRecord, HasTheLayoutOfItsFormatFile) {
    CommitRecordWriter writer;
    writer.add(0x01020304, CommitOp::kPut, "k", "vv");
    const std::string expected(
        "\x01\0\0\0\x01\0\0\0"
        "\x04\x03\x02\x01\x01\0\0\0\x01\0\0\0\x02\0\0\0"
        "kvv"
        "\0\0\0\0",
        31);
    EXPECT_EQ(onlyBody(std::move(writer)), expected);
}

TEST(CommitRecord, EventsComeAfterTheChanges) {
    const std::string body = sampleWithEvents();
    Status status;
    std::vector<std::string> expected = read(sample(), &status);
    expected.insert(expected.end(), {"event first", "event ", "event third"});
    EXPECT_EQ(read(body, &status), expected);
    EXPECT_TRUE(status.isOk()) << status.toString();
    EXPECT_TRUE(CommitReader::hasEvents(body));
    EXPECT_EQ(CommitReader::open(body)->events(), 3u);
    EXPECT_EQ(CommitReader::open(body)->wallMs(), kWallMs);
    EXPECT_FALSE(CommitReader::hasEvents(sample()));
    EXPECT_EQ(CommitReader::open(sample())->events(), 0u);
    EXPECT_EQ(CommitReader::open(sample())->wallMs(), 0);
}

TEST(CommitRecord, EventsHaveTheLayoutOfTheFormatFile) {
    CommitRecordWriter writer;
    writer.addEvent("e");
    const std::string expected(
        "\x01\x01\0\0\0\0\0\0"
        "\x15\0\0\0"
        "\x01\0\0\0\x01\0\0\0\x08\x07\x06\x05\x04\x03\x02\x01"
        "\x01\0\0\0e",
        33);
    EXPECT_EQ(onlyBody(std::move(writer)), expected);
}

TEST(CommitRecord, WhatIsTooLargeForOneIsAChain) {
    const std::vector<std::string> bodies = sampleChain();
    ASSERT_EQ(bodies.size(), 3u);
    Status status;
    const std::vector<std::vector<std::string>> expected = {
        {"7+a=1", "7+b=2"}, {"8+c=3", "event event"}, {"8-d="}};
    for (uint32_t i = 0; i < bodies.size(); ++i) {
        EXPECT_EQ(read(bodies[i], &status), expected[i]);
        ASSERT_TRUE(status.isOk()) << status.toString();
        const CommitReader reader = *CommitReader::open(bodies[i]);
        ASSERT_TRUE(reader.chain().has_value());
        EXPECT_EQ(reader.chain()->number, i);
        EXPECT_EQ(reader.chain()->first, i == 0 ? 0u : kFirst);
        EXPECT_EQ(reader.chain()->isLast, i == 2);
        EXPECT_EQ(CommitReader::hasEvents(bodies[i]), i != 0);
    }
    EXPECT_EQ(CommitReader::open(bodies[2])->wallMs(), kWallMs);
    EXPECT_FALSE(CommitReader::open(sample())->chain().has_value());
}

TEST(CommitRecord, AChainHasTheLayoutOfTheFormatFile) {
    const std::string expected(
        "\x02\x01\0\0\x01\0\0\0"
        "\x08\0\0\0\x02\0\0\0\x01\0\0\0\0\0\0\0"
        "d"
        "\x10\0\0\0"
        "\x01\0\0\0\0\0\0\0\x08\x07\x06\x05\x04\x03\x02\x01"
        "\x55\x44\x33\x22\x11\0\0\0\x02\0\0\0\x01\0\0\0",
        61);
    EXPECT_EQ(sampleChain()[2], expected);
}

TEST(CommitRecord, ImpossiblePlacesInAChainAreRefused) {
    Status status;
    const std::vector<std::string> bodies = sampleChain();
    const auto refuse = [&](std::string body, size_t offset, char wrong) {
        body[body.size() - kChainBytes + offset] = wrong;
        read(body, &status);
        EXPECT_EQ(status.code(), Code::kCorruption) << offset;
    };
    refuse(bodies[0], 0, 1);                   // a first record after another one
    refuse(bodies[0], kChainNumberOffset, 1);  // a later record without a first one
    refuse(bodies[0], kChainLastOffset, 1);    // a chain of one
    refuse(bodies[1], kChainNumberOffset, 0);
    refuse(bodies[1], kChainLastOffset, 2);
}

TEST(CommitRecord, AnOpLargerThanARecordHasOneOfItsOwn) {
    CommitRecordWriter writer(64);
    writer.add(7, CommitOp::kPut, "a", std::string(100, 'x'));
    writer.finish(0);
    EXPECT_EQ(writer.bodiesLeft(), 1u);
    EXPECT_FALSE(CommitReader::open(writer.takeBody(0))->chain().has_value());
}

TEST(CommitRecord, AnEventSectionOfANewerVersionIsSkipped) {
    std::string body = sampleWithEvents();
    body[sample().size()] = 2;
    Status status;
    EXPECT_EQ(read(body, &status), read(sample(), &status));
    EXPECT_TRUE(status.isOk()) << status.toString();
}

TEST(CommitRecord, DamagedEventsAreRefused) {
    const size_t section = sample().size();
    Status status;
    for (const size_t at : {kEventsCountOffset, kEventsHeaderBytes}) {
        for (const char wrong : {'\0', '\1', '\7', '\xff'}) {
            std::string body = sampleWithEvents();
            body[section + at] = wrong;
            read(body, &status);
            EXPECT_EQ(status.code(), Code::kCorruption) << at << " " << int{wrong};
        }
    }
}

TEST(CommitRecord, EveryPrefixIsRefused) {
    for (const std::string& whole : {sample(), sampleWithEvents(), sampleChain()[1]}) {
        for (size_t n = 0; n < whole.size(); ++n) {
            Status status;
            read(ByteView(whole).substr(0, n), &status);
            EXPECT_EQ(status.code(), Code::kCorruption) << n;
        }
        Status status;
        read(whole + "x", &status);
        EXPECT_EQ(status.code(), Code::kCorruption);
    }
}

TEST(CommitRecord, UnknownVersionsAndOperationsAreRefused) {
    Status status;
    std::string body = sample();
    body[0] = 3;
    read(body, &status);
    EXPECT_EQ(status.code(), Code::kUnsupported);
    body = sample();
    body[kCommitHeaderBytes + 4] = 9;
    read(body, &status);
    EXPECT_EQ(status.code(), Code::kCorruption);
    body = sample();
    body[kCommitHeaderBytes + 11] = '\xff';  // the length of a key: gigabytes
    read(body, &status);
    EXPECT_EQ(status.code(), Code::kCorruption);
}

}  // namespace
}  // namespace freshet::engine
