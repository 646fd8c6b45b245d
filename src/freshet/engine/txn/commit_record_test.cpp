// SPDX-License-Identifier: Apache-2.0
/// COMMIT record bodies: round trip, layout, and all kinds of damage.
#include "freshet/engine/txn/commit_record.h"

#include <gtest/gtest.h>

#include <vector>

namespace freshet::engine {
namespace {

std::string sample() {
    CommitRecordWriter writer;
    writer.add(7, CommitOp::kPut, "key", "value");
    writer.add(9, CommitOp::kDelete, "gone", "");
    writer.add(7, CommitOp::kPut, "", std::string("\0x", 2));
    return writer.take();
}

std::vector<std::string> read(ByteView body, Status* status) {
    std::vector<std::string> changes;
    *status = readCommitRecord(body, [&](const CommitChange& change) {
        changes.push_back(std::to_string(change.tree) + (change.op == CommitOp::kPut ? "+" : "-") +
                          std::string(change.key) + "=" + std::string(change.value));
    });
    return changes;
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
    EXPECT_EQ(writer.take(), expected);
    EXPECT_EQ(writer.bytes(), kCommitHeaderBytes);
}

TEST(CommitRecord, EveryPrefixIsRefused) {
    const std::string whole = sample();
    for (size_t n = 0; n < whole.size(); ++n) {
        Status status;
        read(ByteView(whole).substr(0, n), &status);
        EXPECT_EQ(status.code(), Code::kCorruption) << n;
    }
    Status status;
    read(whole + "x", &status);
    EXPECT_EQ(status.code(), Code::kCorruption);
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
