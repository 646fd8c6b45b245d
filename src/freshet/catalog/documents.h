// SPDX-License-Identifier: Apache-2.0
/// Documents of a collection and all their index entries, changed together inside the caller's Txn.
/// Each call may return WouldBlock (token()) and is then called again with the same arguments;
/// kConflict means abort and run again. Each change adds its event to the Txn (event.h). The order
/// of writes is fixed (document, then indexes in their order, then keys ascending), so that waiting
/// writers cannot form a cycle.
#pragma once

#include "freshet/catalog/catalog.h"

namespace freshet::catalog {

/// Thread rule: as the Txn.
class DocumentWriter {
public:
    /// `store`: null if the transaction is of this change alone. Otherwise it is one of several
    /// statements, which may stay open for long: it never locks what definition changes write, and
    /// a duplicate that is newer than its snapshot is a conflict (kWriteConflict).
    DocumentWriter(engine::Txn& txn, CollectionRef collection, engine::Store* store = nullptr);
    ~DocumentWriter();

    /// Sets *id. kExists (kDuplicateKey) with MongoDB's E11000 text and duplicateKeyInfo().
    /// REQUIRES: `document` has an _id as its first field.
    Status insert(bson::Document document, RecordId* id);
    /// REQUIRES: same _id. `isReplacement`: for the event (event.h), as the client asked for it.
    Status update(RecordId id,
                  bson::Document before,
                  bson::Document after,
                  bool isReplacement = false);
    Status remove(RecordId id, bson::Document before);
    /// Replaces the document with the same _id, or inserts the document if there is none.
    Status put(bson::Document document);

    /// After WouldBlock: the transaction's token, or a completed one if a document with a long
    /// array has let others run.
    const sync::WaitToken& token() const;

    /// After kDuplicateKey: {keyPattern: ..., keyValue: ...}.
    const bson::OwnedDocument& duplicateKeyInfo() const;

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

/// Reads one document. kNotFound if it is not visible.
Status readDocument(engine::Txn& txn,
                    const Collection& collection,
                    RecordId id,
                    std::string* document);

/// Reads the document whose _id is the first field of `holder`, which needs no other fields.
/// kNotFound if none is visible.
Status readDocumentById(engine::Txn& txn,
                        const Collection& collection,
                        bson::Document holder,
                        RecordId* id,
                        std::string* document);

std::string recordKey(RecordId id);
RecordId recordIdOf(ByteView key);
/// The record id in an index entry: non-unique entries end with it, unique ones have it as value.
/// kCorruption when the bytes are not an entry.
StatusOr<RecordId> recordIdOfEntry(const Index& index, ByteView key, ByteView value);

}  // namespace freshet::catalog
