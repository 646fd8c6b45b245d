// SPDX-License-Identifier: Apache-2.0
#include "freshet/command/oplog/oplog_entry.h"

#include "freshet/command/stream/event_fields.h"
#include "freshet/command/stream/update_description.h"

#include <algorithm>
#include <utility>

namespace freshet::command {
namespace {

using catalog::EventKind;

constexpr uint64_t kHeadBytesMax = 1024;        // of an entry, beside its operations
constexpr uint64_t kPerOperationBytesMax = 16;  // in the array

/// {ts, t}: where another entry is; none before the first one.
void addPlace(std::string_view name, uint64_t timestamp, int64_t term, bson::Builder* out) {
    out->object(name).add("ts", bson::Timestamp{timestamp}).add("t", term);
}

/// Where an operation is: the collection, or the database's commands.
std::string namespaceOf(const catalog::Event& event) {
    if (event.kind == EventKind::kNote) {
        return {};
    }
    return catalog::isOfDocument(event.kind) ? event.ns() : std::string(event.db) + ".$cmd";
}

bson::OwnedDocument renameOf(const catalog::Event& event) {
    const bson::Document to = event.document.find("to").document();
    bson::Builder o;
    o.add("renameCollection", event.ns());
    o.add("to",
          std::string(to.find("db").stringValue()) + "." +
              std::string(to.find("coll").stringValue()));
    o.add("stayTemp", false);
    if (const bson::Element target = event.document.find("dropTarget")) {
        o.add(target);
    }
    return bson::OwnedDocument(o.finish());
}

}  // namespace

void addEntryEnd(uint64_t timestamp, int64_t wallMs, bson::Builder* entry) {
    entry->add("ts", bson::Timestamp{timestamp});
    entry->add("t", kOplogTerm);
    entry->add("v", int64_t{2});
    entry->add("wall", bson::Date{wallMs});
}

Status OplogWriter::add(const CommittedEvent& committed) {
    FRESHET_RETURN_IF_ERROR(addOperations(committed));
    if (committed.isLast) {
        finishCommit(committed);
    }
    return Status::ok();
}

bool OplogWriter::take(bson::OwnedDocument* entry) {
    if (finished_.empty()) {
        return false;
    }
    *entry = std::move(finished_.front());
    finished_.pop_front();
    finishedBytes_ -= entry->bytes().size();
    return true;
}

Status OplogWriter::addOperations(const CommittedEvent& committed) {
    const catalog::Event& event = committed.event;
    switch (event.kind) {
        case EventKind::kInsert:
            addOperation(committed, "i", committed.after, documentKeyOf(committed).view());
            break;
        case EventKind::kUpdate:
            return addUpdate(committed);
        case EventKind::kReplace:
            addOperation(committed, "u", committed.after, documentKeyOf(committed).view());
            break;
        case EventKind::kDelete:
            addOperation(committed, "d", documentKeyOf(committed).view());
            break;
        case EventKind::kCreateIndexes:
        case EventKind::kDropIndexes:
            addIndexes(committed);
            break;
        case EventKind::kTransaction:
        case EventKind::kStatement:
            break;  // of the entry, not operations
        case EventKind::kNote:
            addOperation(committed, "n", event.document, {});
            break;
        default:
            addDefinition(committed);
    }
    return Status::ok();
}

Status OplogWriter::addUpdate(const CommittedEvent& committed) {
    FRESHET_ASSIGN_OR_RETURN(const bson::OwnedDocument before,
                             catalog::beforeOf(committed.event, committed.after));
    const bson::OwnedDocument diff = rawUpdateDescription(before.view(), committed.after);
    // Many small changes may take more than the document, which an entry always can hold.
    const bool isTooLarge =
        diff.bytes().size() > std::max<uint64_t>(entryBytesMax_, committed.after.size());
    addOperation(committed,
                 "u",
                 isTooLarge ? committed.after : diff.view(),
                 documentKeyOf(committed).view());
    return Status::ok();
}

/// One operation for each index.
void OplogWriter::addIndexes(const CommittedEvent& committed) {
    const catalog::Event& event = committed.event;
    const bool isDrop = event.kind == EventKind::kDropIndexes;
    for (const bson::Element& index : event.document.find("indexes").document()) {
        bson::Builder o;
        o.add(isDrop ? "dropIndexes" : "createIndexes", event.collection);
        if (isDrop) {
            o.addAs("index", index.document().find("name"));
        } else {
            o.addFields(index.document());
        }
        addOperation(committed,
                     "c",
                     bson::OwnedDocument(o.finish()).view(),
                     isDrop ? index.document() : bson::Document());
    }
}

void OplogWriter::addDefinition(const CommittedEvent& committed) {
    const catalog::Event& event = committed.event;
    bson::Builder o;
    bson::Builder o2;
    switch (event.kind) {
        case EventKind::kCreate:
            o.add("create", event.collection);
            addCreated(event, &o);
            break;
        case EventKind::kDrop:
            o.add("drop", event.collection);
            break;
        case EventKind::kRename:
            o.addFields(renameOf(event).view());
            break;
        case EventKind::kDropDatabase:
            o.add("dropDatabase", int32_t{1});
            break;
        case EventKind::kModify:
            o.add("collMod", event.collection);
            addModified(event, &o);
            addBeforeModified(event, "collectionOptions_old", "indexOptions_old", &o2);
            break;
        default:
            return;
    }
    addOperation(committed,
                 "c",
                 bson::OwnedDocument(o.finish()).view(),
                 bson::OwnedDocument(o2.finish()).view());
}

void OplogWriter::addOperation(const CommittedEvent& committed,
                               std::string_view op,
                               bson::Document o,
                               bson::Document o2) {
    const catalog::Event& event = committed.event;
    const uint64_t all = batch_.size() + o.size() + o2.size() + kHeadBytesMax +
                         (batchCount_ + 1) * kPerOperationBytesMax;
    if (batchCount_ > 0 && all > entryBytesMax_) {
        finishBatch(committed, false);
    }
    bson::Builder operation(&batch_);
    operation.add("op", op);
    operation.add("ns", namespaceOf(event));
    if (!event.uuid.empty()) {
        operation.add("ui", uuidOf(event));
    }
    operation.add("o", o);
    if (!o2.isEmpty()) {
        operation.add("o2", o2);
    }
    ++batchCount_;
    ++operations_;
}

void OplogWriter::finishCommit(const CommittedEvent& committed) {
    if (operations_ == 1 && committed.transaction.isEmpty()) {
        finishSingle(committed);
    } else if (operations_ > 0) {
        finishBatch(committed, true);
    }
    operations_ = 0;
    partialEntries_ = 0;
}

void OplogWriter::finishSingle(const CommittedEvent& committed) {
    bson::Builder entry;
    entry.reserve(batch_.size() + kHeadBytesMax);
    const bson::Document statement = committed.statement;
    if (!statement.isEmpty()) {
        entry.add("lsid", sessionOf(statement).view());
        entry.add(statement.find("txnNumber"));
    }
    entry.addFields(bson::Document(batch_.data()));
    if (!statement.isEmpty()) {
        entry.add(statement.find("stmtId"));
    }
    finish(committed, &entry);
}

/// An entry of all operations that were collected. `isLast`: of the commit.
void OplogWriter::finishBatch(const CommittedEvent& committed, bool isLast) {
    const bool isTransaction = !committed.transaction.isEmpty();
    bson::Builder entry;
    entry.reserve(batch_.size() + kHeadBytesMax + batchCount_ * kPerOperationBytesMax);
    if (isTransaction) {
        entry.add("lsid", sessionOf(committed.transaction).view());
        entry.add(committed.transaction.find("txnNumber"));
    }
    entry.add("op", "c").add("ns", "admin.$cmd");
    {
        bson::Builder o = entry.object("o");
        {
            bson::Builder operations = o.array("applyOps");
            for (size_t at = 0; at < batch_.size();) {
                const bson::Document operation(batch_.data() + at);
                operations.push(operation);
                at += operation.size();
            }
        }
        if (isTransaction && !isLast) {
            o.add("partialTxn", true);
        } else if (isTransaction && partialEntries_ > 0) {
            o.add("count", operations_);
        }
    }
    finish(committed, &entry);
    partialEntries_ += isLast ? 0 : 1;
}

/// Adds the fields that end an entry.
void OplogWriter::finish(const CommittedEvent& committed, bson::Builder* entry) {
    addEntryEnd(committed.timestamp, committed.wallMs, entry);
    if (!committed.transaction.isEmpty()) {
        const bool isFirst = partialEntries_ == 0;
        addPlace("prevOpTime", isFirst ? 0 : committed.timestamp, isFirst ? -1 : kOplogTerm, entry);
    }
    finished_.emplace_back(entry->finish());
    finishedBytes_ += finished_.back().bytes().size();
    batch_.clear();
    batchCount_ = 0;
}

}  // namespace freshet::command
