// SPDX-License-Identifier: Apache-2.0
/// GridFS against a server that keeps chunks in a list and supports only what GridFS uses.
#include "freshet/client/gridfs.h"

#include "freshet/bson/json.h"
#include "freshet/client/scripted_server.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <mutex>

namespace freshet::client {
namespace {

/// Two collections by name; the last file inserted is the newest.
class Store {
public:
    std::string operator()(const wire::Request& request) {
        std::lock_guard lock(mutex_);
        const bson::Element first = *request.body.begin();
        commands_.push_back(std::string(first.name()));
        if (first.name() == refused_) {
            return bson::fromJson(R"({"ok": 1, "writeErrors": [{"errmsg": "disk full"}]})")
                ->bytes();
        }
        std::vector<bson::OwnedDocument>& collection =
            collections_[std::string(first.stringValue())];
        if (first.name() == "insert") {
            for (const bson::Element& document : request.body.find("documents").document()) {
                collection.emplace_back(document.document());
            }
        } else if (first.name() == "find") {
            return found(collection, request.body);
        } else if (first.name() == "delete") {
            return removed(&collection, request.body.findPath("deletes.0.q").document());
        }
        return bson::Builder().add("ok", 1.0).finish();
    }
    std::vector<bson::OwnedDocument> all(const std::string& collection) {
        std::lock_guard lock(mutex_);
        return collections_[collection];
    }
    void replace(const std::string& collection, std::vector<bson::OwnedDocument> documents) {
        std::lock_guard lock(mutex_);
        collections_[collection] = std::move(documents);
    }
    void refuse(std::string command) {
        std::lock_guard lock(mutex_);
        refused_ = std::move(command);
    }
    std::vector<std::string> takeCommands() {
        std::lock_guard lock(mutex_);
        return std::exchange(commands_, {});
    }

private:
    static bool equal(const bson::Element& one, const bson::Element& other) {
        return !one.isMissing() && one.type() == other.type() && one.value() == other.value();
    }
    static bool matches(bson::Document document, bson::Document filter) {
        for (const bson::Element& field : filter) {
            const bson::Element value = document.find(field.name());
            const bool fits = field.isObject()
                                  ? value.toInt64() >= (*field.document().begin()).toInt64()
                                  : equal(value, field);
            if (!fits) {
                return false;
            }
        }
        return true;
    }
    static std::string found(const std::vector<bson::OwnedDocument>& collection,
                             bson::Document command) {
        std::vector<bson::Document> hits;
        for (const bson::OwnedDocument& document : collection) {
            if (!command.has("filter") ||
                matches(document.view(), command.find("filter").document())) {
                hits.push_back(document.view());
            }
        }
        const bool byNumber = command.findPath("sort.n").toInt64() == 1;
        std::stable_sort(hits.begin(), hits.end(), [&](const auto& one, const auto& other) {
            return byNumber && one.find("n").toInt64() < other.find("n").toInt64();
        });
        if (!byNumber) {
            std::reverse(hits.begin(), hits.end());  // the newest first
        }
        hits.resize(std::min<size_t>(hits.size(), command.find("limit").toInt64()));
        bson::Builder reply;
        {
            bson::Builder cursor = reply.object("cursor");
            cursor.add("id", int64_t{0}).add("ns", "shop.x");
            bson::Builder batch = cursor.array("firstBatch");
            for (const bson::Document& hit : hits) {
                batch.push(hit);
            }
        }
        return reply.add("ok", 1.0).finish();
    }
    static std::string removed(std::vector<bson::OwnedDocument>* collection,
                               bson::Document filter) {
        const size_t before = collection->size();
        std::erase_if(*collection, [&](const bson::OwnedDocument& document) {
            return matches(document.view(), filter);
        });
        return bson::Builder()
            .add("n", static_cast<int32_t>(before - collection->size()))
            .add("ok", 1.0)
            .finish();
    }

    std::mutex mutex_;
    std::map<std::string, std::vector<bson::OwnedDocument>> collections_;  // guarded by mutex_
    std::vector<std::string> commands_;                                    // guarded by mutex_
    std::string refused_;                                                  // guarded by mutex_
};

std::string patternOf(size_t bytes) {
    std::string out(bytes, '\0');
    for (size_t i = 0; i < bytes; ++i) {
        out[i] = static_cast<char>(i * 7 + i / 251);
    }
    return out;
}

class GridFs : public ::testing::Test {
protected:
    GridFs() {
        bucket_.database = "shop";
        bucket_.chunkBytes = 1'000;
        connection_ = std::move(Connection::open(server_.where())).value();
    }
    /// Writes in pieces that are not a multiple of a chunk.
    bson::ObjectId put(const std::string& name, const std::string& bytes) {
        auto writer = std::move(GridFsWriter::open(*connection_, bucket_, name)).value();
        for (size_t at = 0; at < bytes.size(); at += 777) {
            EXPECT_TRUE(writer->write(ByteView(bytes).substr(at, 777)).isOk());
        }
        EXPECT_TRUE(writer->close().isOk());
        return writer->id();
    }
    StatusOr<std::string> get(const std::string& name) {
        FRESHET_ASSIGN_OR_RETURN(auto reader,
                                 GridFsReader::openNewest(*connection_, bucket_, name));
        std::string all;
        for (;;) {
            FRESHET_ASSIGN_OR_RETURN(ByteView part, reader->next());
            if (part.empty()) {
                return all;
            }
            all += part;
        }
    }
    std::string failureOf(const std::string& name) {
        const StatusOr<std::string> read = get(name);
        EXPECT_FALSE(read.isOk());
        EXPECT_TRUE(read.isOk() || read.status().code() == Code::kCorruption);
        return read.isOk() ? "" : std::string(read.status().text());
    }
    /// A copy of a chunk with other fields.
    static bson::OwnedDocument chunkLike(bson::Document chunk, int32_t n, ByteView data) {
        bson::Builder out;
        out.add(chunk.find("files_id")).add("n", n).add("data", bson::Binary{0, data});
        return bson::OwnedDocument(out.finish());
    }

    Store store_;
    ScriptedServer server_{[this](const wire::Request& request) { return store_(request); }};
    GridFsBucket bucket_;
    std::unique_ptr<Connection> connection_;
};

TEST_F(GridFs, WritesTheFormOfTheSpecification) {
    const bson::ObjectId id = put("a", patternOf(2'500));
    const auto files = store_.all("fs.files");
    ASSERT_EQ(files.size(), 1u);
    const bson::Document file = files[0].view();
    EXPECT_EQ(file.find("_id").objectIdBytes(), ByteView(id.bytes, 12));
    EXPECT_EQ(file.find("length").type(), bson::Type::kInt64);
    EXPECT_EQ(file.find("length").toInt64(), 2'500);
    EXPECT_EQ(file.find("chunkSize").type(), bson::Type::kInt32);
    EXPECT_EQ(file.find("chunkSize").toInt64(), 1'000);
    EXPECT_EQ(file.find("uploadDate").type(), bson::Type::kDate);
    EXPECT_EQ(file.find("filename").stringValue(), "a");
    EXPECT_FALSE(file.has("metadata"));
    const auto chunks = store_.all("fs.chunks");
    ASSERT_EQ(chunks.size(), 3u);
    for (size_t i = 0; i < chunks.size(); ++i) {
        const bson::Document chunk = chunks[i].view();
        EXPECT_EQ(chunk.fieldCount(), 4);
        EXPECT_EQ(chunk.find("files_id").objectIdBytes(), ByteView(id.bytes, 12));
        EXPECT_EQ(chunk.find("n").type(), bson::Type::kInt32);
        EXPECT_EQ(chunk.find("n").toInt64(), static_cast<int64_t>(i));
        EXPECT_EQ(chunk.find("data").binaryValue().subtype, 0);
        EXPECT_EQ(chunk.find("data").binaryValue().bytes,
                  ByteView(patternOf(2'500)).substr(i * 1'000, 1'000));
    }
}

TEST_F(GridFs, IndexesAreCreatedForTheFirstFileOnly) {
    put("a", "1");
    EXPECT_EQ(
        store_.takeCommands(),
        (std::vector<std::string>{"find", "createIndexes", "createIndexes", "insert", "insert"}));
    put("b", "2");
    EXPECT_EQ(store_.takeCommands(), (std::vector<std::string>{"find", "insert", "insert"}));
}

TEST_F(GridFs, FilesOfAnyLengthAreReadBack) {
    for (size_t bytes : {0u, 1u, 999u, 1'000u, 1'001u, 2'000u, 123'456u}) {
        put("a", patternOf(bytes));
        const StatusOr<std::string> read = get("a");
        ASSERT_TRUE(read.isOk()) << read.status().toString();
        EXPECT_EQ(*read, patternOf(bytes));
    }
}

TEST_F(GridFs, ALargeFileIsSentInBatches) {
    bucket_.chunkBytes = 255 * 1024;
    const std::string bytes = patternOf(9'000'000);  // more than two batches, and an odd rest
    auto writer = std::move(GridFsWriter::open(*connection_, bucket_, "large")).value();
    store_.takeCommands();
    ASSERT_TRUE(writer->write(bytes).isOk());
    EXPECT_EQ(store_.takeCommands().size(), 2u);  // full batches have been sent
    EXPECT_TRUE(store_.all("fs.files").empty());  // and no reader sees the file yet
    const std::string metadata = bson::Builder().add("model", "vgg16").finish();
    ASSERT_TRUE(writer->close(bson::Document(metadata)).isOk());
    EXPECT_EQ(store_.takeCommands().size(), 2u);
    auto reader = std::move(GridFsReader::open(*connection_, bucket_, writer->id())).value();
    EXPECT_EQ(reader->length(), bytes.size());
    EXPECT_EQ(reader->file().findPath("metadata.model").stringValue(), "vgg16");
    size_t at = 0;
    for (ByteView part = *reader->next(); !part.empty(); part = *reader->next()) {
        ASSERT_EQ(part, ByteView(bytes).substr(at, part.size())) << at;
        at += part.size();
    }
    EXPECT_EQ(at, bytes.size());
    EXPECT_EQ(store_.takeCommands().size(), 4u);  // the file and three batches
}

TEST_F(GridFs, TheNewestFileOfANameIsRead) {
    put("a", "old");
    put("a", "new");
    EXPECT_EQ(*get("a"), "new");
    EXPECT_EQ(get("b").status().code(), Code::kNotFound);
}

TEST_F(GridFs, MissingChunksAreNamed) {
    put("a", patternOf(4'500));
    const auto whole = store_.all("fs.chunks");
    auto less = whole;
    less.erase(less.begin() + 2);
    store_.replace("fs.chunks", less);
    EXPECT_NE(failureOf("a").find("chunk 2 of 5 is missing: the next is 3"), std::string::npos);
    less = {whole[0], whole[1]};
    store_.replace("fs.chunks", less);
    EXPECT_NE(failureOf("a").find("chunk 2 of 5 is missing, and all after"), std::string::npos);
    store_.replace("fs.chunks", {});
    EXPECT_NE(failureOf("a").find("chunk 0 of 5 is missing"), std::string::npos);
}

TEST_F(GridFs, WrongLengthsExtraAndDuplicateChunksAreFound) {
    put("a", patternOf(2'500));
    const auto whole = store_.all("fs.chunks");
    const auto with = [&](size_t place, bson::OwnedDocument chunk) {
        auto chunks = whole;
        if (place < chunks.size()) {
            chunks[place] = std::move(chunk);
        } else {
            chunks.push_back(std::move(chunk));
        }
        store_.replace("fs.chunks", chunks);
        return failureOf("a");
    };
    const bson::Document any = whole[0].view();
    EXPECT_NE(with(1, chunkLike(any, 1, "short")).find("chunk 1 has 5 bytes, not 1000"),
              std::string::npos);
    EXPECT_NE(with(2, chunkLike(any, 2, patternOf(501))).find("chunk 2 has 501 bytes, not 500"),
              std::string::npos);
    EXPECT_NE(with(9, chunkLike(any, 3, "x")).find("more chunks than 3"), std::string::npos);
    EXPECT_NE(with(9, chunkLike(any, 1, patternOf(1'000))).find("chunk 1 is there twice"),
              std::string::npos);
    bson::Builder text;
    text.add(any.find("files_id")).add("n", int32_t{1}).add("data", "text");
    EXPECT_NE(with(1, bson::OwnedDocument(text.finish())).find("chunk 1 has no data"),
              std::string::npos);
}

TEST_F(GridFs, AnInvalidFileDocumentIsNotRead) {
    for (const char* wrong : {R"({"_id": 1, "filename": "a", "length": -1, "chunkSize": 10})",
                              R"({"_id": 1, "filename": "a", "length": 10, "chunkSize": 0})",
                              R"({"_id": 1, "filename": "a", "length": 1.5, "chunkSize": 10})",
                              R"({"filename": "a", "length": 1, "chunkSize": 10})"}) {
        store_.replace("fs.files", {*bson::fromJson(wrong)});
        EXPECT_NE(failureOf("a").find("is invalid"), std::string::npos) << wrong;
    }
}

TEST_F(GridFs, OtherDriversIdsAndNumbersAreAccepted) {
    store_.replace(
        "fs.files",
        {*bson::fromJson(R"({"_id": "own", "filename": "a", "length": 3, "chunkSize": 2.0})")});
    store_.replace("fs.chunks",
                   {*bson::fromJson(R"({"files_id": "own", "n": 0.0,
                        "data": {"$binary": {"base64": "YWI=", "subType": "00"}}})"),
                    *bson::fromJson(R"({"files_id": "own", "n": 1,
                        "data": {"$binary": {"base64": "Yw==", "subType": "00"}}})")});
    EXPECT_EQ(*get("a"), "abc");
}

TEST_F(GridFs, AFailedWriteIsReportedAndCanBeAborted) {
    auto writer = std::move(GridFsWriter::open(*connection_, bucket_, "a")).value();
    store_.refuse("insert");
    const Status failed = writer->write(patternOf(5'000'000));
    EXPECT_EQ(failed.code(), Code::kIo);
    EXPECT_NE(failed.text().find("disk full"), std::string_view::npos);
    store_.refuse("");
    EXPECT_TRUE(writer->abort().isOk());
    put("b", "b");
    auto second = std::move(GridFsWriter::open(*connection_, bucket_, "c")).value();
    ASSERT_TRUE(second->write(patternOf(5'000'000)).isOk());
    EXPECT_GT(store_.all("fs.chunks").size(), 1u);
    EXPECT_TRUE(second->abort().isOk());
    EXPECT_EQ(store_.all("fs.chunks").size(), 1u);
}

TEST_F(GridFs, RemovingDeletesChunksToo) {
    const bson::ObjectId id = put("a", patternOf(2'500));
    put("b", "b");
    EXPECT_TRUE(removeFromGridFs(*connection_, bucket_, id).isOk());
    EXPECT_EQ(store_.all("fs.files").size(), 1u);
    EXPECT_EQ(store_.all("fs.chunks").size(), 1u);
    EXPECT_EQ(removeFromGridFs(*connection_, bucket_, id).code(), Code::kNotFound);
}

TEST_F(GridFs, ChunkSizesAreChecked) {
    for (uint32_t wrong : {0u, 16'000'001u}) {
        bucket_.chunkBytes = wrong;
        EXPECT_FALSE(GridFsWriter::open(*connection_, bucket_, "a").isOk());
    }
}

}  // namespace
}  // namespace freshet::client
