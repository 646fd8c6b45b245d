// SPDX-License-Identifier: Apache-2.0
/// An event of the log as a client of a change stream sees it. Pure; any thread.
///
///     {to, txnNumber, lsid, _id, operationType, clusterTime, collectionUUID, wallTime,
///      fullDocument, ns, documentKey, operationDescription, updateDescription, stateBeforeChange,
///      fullDocumentBeforeChange}
///
/// as far as the event has them, in this order, which is MongoDB's.
#pragma once

#include "freshet/bson/builder.h"
#include "freshet/command/stream/change_options.h"
#include "freshet/command/stream/committed_event.h"

#include <string_view>

namespace freshet::command {

/// "insert", "update" ...; empty for events that no change stream shows: kTransaction and later.
std::string_view operationTypeOf(catalog::EventKind kind);

/// Whether streams show it only with showExpandedEvents.
bool isExpandedEvent(catalog::EventKind kind);

/// A document in an event that may not be known: absent, null, or given.
struct Image {
    enum class Kind : uint8_t { kAbsent, kNull, kGiven };
    Kind kind = Kind::kAbsent;
    bson::Document document;
};

/// What an event does not say by itself.
struct ChangeParts {
    bson::Document token;            // its _id
    bson::Document before;           // kUpdate: the document before, see catalog::beforeOf()
    Image fullDocument;              // kUpdate; inserts and replacements have their own
    Image fullDocumentBeforeChange;  // kUpdate, kReplace, kDelete
};

/// REQUIRES: of a kind that has an operationType. It may be larger than a message can be.
bson::OwnedDocument changeDocument(const CommittedEvent& committed,
                                   const ChangeOptions& options,
                                   const ChangeParts& parts);

/// The event "invalidate", which ends a stream behind another event.
bson::OwnedDocument invalidateDocument(const CommittedEvent& committed, bson::Document token);

}  // namespace freshet::command
