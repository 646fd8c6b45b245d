// SPDX-License-Identifier: Apache-2.0
/// Events: what a commit changed, for readers of the log (change streams, the oplog). The catalog
/// adds one to the transaction (engine::Txn::addEvent) for each document and each definition that
/// it changes, in the order of the changes. Layout: docs/formats/events.md.
///
/// What the commit record holds anyway is not repeated. A document that was inserted or changed is
/// the value of a put in the same commit, found by tree and record id; an update's event has only
/// the bytes that differed before, from which beforeOf() makes the old document.
///
/// Functions here are pure; any thread.
#pragma once

#include "freshet/base/status.h"
#include "freshet/bson/builder.h"
#include "freshet/catalog/catalog.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace freshet::catalog {

/// Numbers are part of the format.
enum class EventKind : uint8_t {
    kInsert = 1,
    kUpdate = 2,   // some fields of the document
    kReplace = 3,  // the document as a whole
    kDelete = 4,
    kCreate = 5,        // details: {options: {...}, idIndex: {...}}
    kDrop = 6,          // no details
    kRename = 7,        // details: {to: {db, coll}, dropTarget: <uuid>}; dropTarget only if one was
    kDropDatabase = 8,  // without collection and uuid; behind the kDrop of each collection
    kCreateIndexes = 9,  // details: {indexes: [specifications]}
    kDropIndexes = 10,   // details: {indexes: [specifications]}
    kModify = 11,        // details: {options: {...}, optionsBefore: {...}, indexes: [changed
                         // specifications], indexesBefore: [the same as they were]}
    kTransaction = 12,   // details: {lsid: <bytes>, txnNumber}; the last event of its commit
    kStatement = 13,     // details: {lsid, txnNumber, stmtId, n, nModified, upserted, value}, the
                         // last four if the result is not "one document"; behind its write's event
    kNote = 14,          // details: anything; the only event of its commit, for the oplog
};

inline bool isOfDocument(EventKind kind) {
    return kind <= EventKind::kDelete;
}

/// One event. Views point into the bytes that were decoded.
struct Event {
    EventKind kind = EventKind::kInsert;
    /// Of documents: the collection kept images (changeStreamPreAndPostImages).
    bool keepsImages = false;
    std::string_view db;          // empty: of no database (kTransaction and later)
    std::string_view collection;  // empty: of a database
    ByteView uuid;                // of the collection, 16 bytes, or empty

    // Of documents:
    engine::TreeId tree = 0;  // the collection's records
    RecordId record = 0;
    /// kUpdate, kReplace: how many bytes of the documents before and after agree, from byte 4 on
    /// and at the end, and the bytes between them in the document before. All empty if not
    /// hasBefore().
    uint32_t samePrefix = 0;
    uint32_t sameSuffix = 0;
    ByteView replaced;
    /// kDelete: the deleted document if keepsImages, else its {_id}. Of definitions: the details.
    bson::Document document;

    /// Whether beforeOf() has an answer: an update needs it for what it changed, a replacement only
    /// as an image.
    bool hasBefore() const {
        return kind == EventKind::kUpdate || (kind == EventKind::kReplace && keepsImages);
    }
    std::string ns() const { return std::string(db) + "." + std::string(collection); }
};

/// Whether changes of the collection's documents and definition are events. Not those of the
/// databases local and config, which describe this server, nor the profiler's.
bool hasEvents(std::string_view db, std::string_view collection);

// Encoding. Each replaces *out.
void encodeInsert(const Collection& collection, RecordId id, std::string* out);
void encodeUpdate(const Collection& collection,
                  RecordId id,
                  bson::Document before,
                  bson::Document after,
                  bool isReplacement,
                  std::string* out);
void encodeDelete(const Collection& collection,
                  RecordId id,
                  bson::Document before,
                  std::string* out);
/// `uuid` may be empty, and so may `collection`.
void encodeDefinition(EventKind kind,
                      std::string_view db,
                      std::string_view collection,
                      ByteView uuid,
                      bson::Document details,
                      std::string* out);

/// At a glance. Of bytes that are no event it may be a kind that does not exist.
inline EventKind kindOf(ByteView bytes) {
    return bytes.empty() ? EventKind{} : static_cast<EventKind>(bytes[0]);
}
/// kCorruption: not what these functions write. kUnsupported: of a kind that this version does not
/// know.
StatusOr<Event> decodeEvent(ByteView bytes);

/// The document before an update or a replacement, from the one after it. REQUIRES: hasBefore().
/// kCorruption: the two do not belong together.
StatusOr<bson::OwnedDocument> beforeOf(const Event& event, bson::Document after);

}  // namespace freshet::catalog
