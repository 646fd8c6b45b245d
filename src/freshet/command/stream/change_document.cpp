// SPDX-License-Identifier: Apache-2.0
#include "freshet/command/stream/change_document.h"

#include "freshet/base/assert.h"
#include "freshet/command/stream/event_fields.h"
#include "freshet/command/stream/update_description.h"

namespace freshet::command {
namespace {

using catalog::EventKind;

void addImage(std::string_view name, const Image& image, bson::Builder* out) {
    if (image.kind == Image::Kind::kNull) {
        out->add(name, bson::Null());
    } else if (image.kind == Image::Kind::kGiven) {
        out->add(name, image.document);
    }
}

void addHead(std::string_view operationType,
             const CommittedEvent& committed,
             bson::Document token,
             bson::Builder* out) {
    out->add("_id", token);
    out->add("operationType", operationType);
    out->add("clusterTime", bson::Timestamp{committed.timestamp});
}

void addTransaction(bson::Document transaction, bson::Builder* out) {
    if (!transaction.isEmpty()) {
        out->add(transaction.find("txnNumber"));
        out->add("lsid", sessionOf(transaction).view());
    }
}

void addNamespace(const catalog::Event& event, bson::Builder* out) {
    bson::Builder ns = out->object("ns");
    ns.add("db", event.db);
    if (!event.collection.empty()) {
        ns.add("coll", event.collection);
    }
}

/// With showExpandedEvents: what was done to a definition.
void addOperationDescription(const catalog::Event& event, bson::Builder* out) {
    switch (event.kind) {
        case EventKind::kCreate: {
            bson::Builder description = out->object("operationDescription");
            addCreated(event, &description);
            break;
        }
        case EventKind::kModify: {
            bson::Builder description = out->object("operationDescription");
            addModified(event, &description);
            break;
        }
        case EventKind::kRename:
        case EventKind::kCreateIndexes:
        case EventKind::kDropIndexes:
            out->add("operationDescription", event.document);
            break;
        default:
            break;  // nothing to tell
    }
}

void addUpdateDescription(const CommittedEvent& committed,
                          const ChangeOptions& options,
                          bson::Document before,
                          bson::Builder* out) {
    if (options.showRawUpdateDescription) {
        out->add("rawUpdateDescription", rawUpdateDescription(before, committed.after).view());
    } else {
        const bson::OwnedDocument description =
            describeUpdate(before, committed.after, options.showExpandedEvents);
        out->add("updateDescription", description.view());
    }
}

Image fullDocumentOf(const CommittedEvent& committed, const ChangeParts& parts) {
    switch (committed.event.kind) {
        case EventKind::kInsert:
        case EventKind::kReplace:
            return {Image::Kind::kGiven, committed.after};
        case EventKind::kUpdate:
            return parts.fullDocument;
        default:
            return {};
    }
}

}  // namespace

std::string_view operationTypeOf(EventKind kind) {
    switch (kind) {
        case EventKind::kInsert:
            return "insert";
        case EventKind::kUpdate:
            return "update";
        case EventKind::kReplace:
            return "replace";
        case EventKind::kDelete:
            return "delete";
        case EventKind::kCreate:
            return "create";
        case EventKind::kDrop:
            return "drop";
        case EventKind::kRename:
            return "rename";
        case EventKind::kDropDatabase:
            return "dropDatabase";
        case EventKind::kCreateIndexes:
            return "createIndexes";
        case EventKind::kDropIndexes:
            return "dropIndexes";
        case EventKind::kModify:
            return "modify";
        case EventKind::kTransaction:
        case EventKind::kStatement:
        case EventKind::kNote:
            return {};
    }
    return {};
}

bool isExpandedEvent(EventKind kind) {
    return kind == EventKind::kCreate || kind == EventKind::kCreateIndexes ||
           kind == EventKind::kDropIndexes || kind == EventKind::kModify;
}

bson::OwnedDocument changeDocument(const CommittedEvent& committed,
                                   const ChangeOptions& options,
                                   const ChangeParts& parts) {
    const catalog::Event& event = committed.event;
    const std::string_view operationType = operationTypeOf(event.kind);
    dcheck(!operationType.empty());
    bson::Builder out;
    if (event.kind == EventKind::kRename) {
        out.add(event.document.find("to"));
    }
    addTransaction(committed.transaction, &out);
    addHead(operationType, committed, parts.token, &out);
    if (options.showExpandedEvents && !event.uuid.empty()) {
        out.add("collectionUUID", uuidOf(event));
    }
    out.add("wallTime", bson::Date{committed.wallMs});
    addImage("fullDocument", fullDocumentOf(committed, parts), &out);
    addNamespace(event, &out);
    if (catalog::isOfDocument(event.kind)) {
        out.add("documentKey", documentKeyOf(committed).view());
    } else if (options.showExpandedEvents) {
        addOperationDescription(event, &out);
    }
    if (event.kind == EventKind::kUpdate) {
        addUpdateDescription(committed, options, parts.before, &out);
    }
    if (event.kind == EventKind::kModify) {
        bson::Builder state = out.object("stateBeforeChange");
        addBeforeModified(event, "collectionOptions", "indexOptions", &state);
    }
    if (catalog::isOfDocument(event.kind) && event.kind != EventKind::kInsert) {
        addImage("fullDocumentBeforeChange", parts.fullDocumentBeforeChange, &out);
    }
    return bson::OwnedDocument(out.finish());
}

bson::OwnedDocument invalidateDocument(const CommittedEvent& committed, bson::Document token) {
    bson::Builder out;
    addHead("invalidate", committed, token, &out);
    out.add("wallTime", bson::Date{committed.wallMs});
    return bson::OwnedDocument(out.finish());
}

}  // namespace freshet::command
