// SPDX-License-Identifier: Apache-2.0
#include "freshet/query/point_reader.h"

#include "freshet/bson/keyform.h"
#include "freshet/catalog/documents.h"
#include "freshet/query/exec/id_cursor.h"
#include "freshet/query/exec/row_stream.h"

namespace freshet::query {

bool PointReader::isPlain(const bson::Element& id) {
    switch (id.type()) {
        case bson::Type::kDouble:
        case bson::Type::kString:
        case bson::Type::kBinary:
        case bson::Type::kObjectId:
        case bson::Type::kBool:
        case bson::Type::kDate:
        case bson::Type::kInt32:
        case bson::Type::kInt64:
        case bson::Type::kDecimal:
        case bson::Type::kTimestamp:
            return true;
        default:
            return false;
    }
}

Status readById(engine::Txn& txn,
                const catalog::Collection& collection,
                ByteView key,
                engine::SharedRead* document,
                const DocumentHint& hint) {
    if (collection.isDropped()) {
        return planKilled(collection);
    }
    const catalog::Index& idIndex = *collection.indexes[0];
    ByteView entry;
    FRESHET_RETURN_IF_ERROR(txn.getInPlace(*idIndex.tree, key, &entry, hint.id));
    FRESHET_ASSIGN_OR_RETURN(const catalog::RecordId id,
                             catalog::recordIdOfEntry(idIndex, key, entry));
    return txn.getShared(*collection.records, catalog::recordKey(id), document, hint.record);
}

WorkDone workOfIdRead(const catalog::Collection& collection, bool found) {
    WorkDone work;
    work.keysExamined = work.docsExamined = found ? 1 : 0;
    work.plan.kind = "IDHACK";
    work.plan.usedTree = collection.indexes[0]->treeId;
    return work;
}

Status PointReader::read(const bson::Element& id, std::string* out, engine::ValueShare* share) {
    key_.clear();
    bson::appendKeyForm(id, false, &key_, nullptr);
    sync::Slice slice(store_.epochs());  // the transaction's own slice then costs nothing
    engine::Txn txn(store_);
    engine::SharedRead document{kBorrowBytesMin};
    FRESHET_RETURN_IF_ERROR(readById(txn, *collection_, key_, &document, hint_));
    if (document.share.isEmpty()) {
        out->append(document.bytes);
    } else {
        *share = std::move(document.share);
    }
    return Status::ok();
}

bool PointReader::lookAhead(const bson::Element& id, ReadAhead* ahead) {
    key_.clear();
    bson::appendKeyForm(id, false, &key_, nullptr);
    return ahead->add(*collection_, key_, &hint_);
}

WorkDone PointReader::work(bool found) const {
    return workOfIdRead(*collection_, found);
}

}  // namespace freshet::query
