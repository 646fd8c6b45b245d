// SPDX-License-Identifier: Apache-2.0
/// Documents of a collection and all their index entries, changed as one inside the caller's Txn.
/// Each call may return WouldBlock (token()) and is then called again with the same arguments;
/// kConflict means abort and run again. Order of writes is fixed (document, then indexes in their
/// order, then keys ascending), so that waiting writers cannot wait for each other in a circle.
#pragma once

#include "freshet/catalog/catalog.h"

namespace freshet::catalog {

/// Thread rule: as the Txn.
class DocumentWriter {
public:
    DocumentWriter(engine::Txn& txn, CollectionRef collection);
    ~DocumentWriter();

    /// REQUIRES: `document` has an _id as its first field. kExists (kDuplicateKey) with MongoDB's
    /// E11000 text; duplicateKeyInfo() then tells more. Sets *id.
    Status insert(bson::Document document, RecordId* id);
    /// REQUIRES: same _id.
    Status update(RecordId id, bson::Document before, bson::Document after);
    Status remove(RecordId id, bson::Document before);
    /// In place of the document with the same _id, or in addition when there is none.
    Status put(bson::Document document);

    /// After WouldBlock: the transaction's, or a completed one: a document with a long array has
    /// let others run.
    const sync::WaitToken& token() const;

    /// After kDuplicateKey: {keyPattern: ..., keyValue: ...}.
    const bson::OwnedDocument& duplicateKeyInfo() const;

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

/// Reads one document. kNotFound when it is not visible.
Status readDocument(engine::Txn& txn,
                    const Collection& collection,
                    RecordId id,
                    std::string* document);

/// Reads the one with the _id that `holder`, which need have nothing else, begins with. kNotFound
/// when none is visible.
Status readDocumentById(engine::Txn& txn,
                        const Collection& collection,
                        bson::Document holder,
                        RecordId* id,
                        std::string* document);

std::string recordKey(RecordId id);
RecordId recordIdOf(ByteView key);
/// The document that an index entry stands for: non-unique entries end with the id, unique ones
/// have it as value. kCorruption when the bytes are no entry.
StatusOr<RecordId> recordIdOfEntry(const Index& index, ByteView key, ByteView value);

}  // namespace freshet::catalog
