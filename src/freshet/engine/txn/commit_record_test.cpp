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

std::string sample() {
    return sampleWriter().take(kWallMs);
}

std::string sampleWithEvents() {
    CommitRecordWriter writer = sampleWriter();
    writer.addEvent("first");
    writer.addEvent("");
    writer.addEvent("third");
    return writer.take(kWallMs);
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
    EXPECT_EQ(writer.take(kWallMs), expected);
    EXPECT_EQ(writer.bytes(), kCommitHeaderBytes);
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
    EXPECT_EQ(writer.take(kWallMs), expected);
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
    for (const std::string& whole : {sample(), sampleWithEvents()}) {
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
    body[0] = 2;
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
