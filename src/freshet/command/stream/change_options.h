// SPDX-License-Identifier: Apache-2.0
/// ChangeOptions: what a client asks of a change stream, the object of the stage $changeStream.
/// Pure; any thread.
#pragma once

#include "freshet/base/status.h"
#include "freshet/bson/view.h"
#include "freshet/command/stream/resume_token.h"

#include <cstdint>
#include <optional>
#include <string_view>

namespace freshet::command {

/// Whether an update's event has the document after it.
enum class FullDocument : uint8_t {
    kDefault,        // no
    kUpdateLookup,   // as it is when the event is read
    kWhenAvailable,  // as the update has left it, if the collection keeps images
    kRequired,       // the same, or the stream ends with an error
};

/// Whether the event of an update, a replacement or a delete has the document before it.
enum class FullDocumentBeforeChange : uint8_t { kOff, kWhenAvailable, kRequired };

struct ChangeOptions {
    FullDocument fullDocument = FullDocument::kDefault;
    FullDocumentBeforeChange fullDocumentBeforeChange = FullDocumentBeforeChange::kOff;
    /// Where to begin; at most one of both, and without one at the present.
    std::optional<ResumeToken> after;  // resumeAfter or startAfter
    std::optional<uint64_t> startAtOperationTime;

    bool allChangesForCluster = false;
    bool showExpandedEvents = false;
    bool showSystemEvents = false;
    bool showRawUpdateDescription = false;
    bool matchCollectionUuidForUpdateLookup = false;
};

/// `stage`: the field $changeStream; `collection` is empty in {aggregate: 1}. kInvalid with
/// MongoDB's codes and texts, also when there may be no stream on such a collection or database.
StatusOr<ChangeOptions> parseChangeOptions(const bson::Element& stage,
                                           std::string_view db,
                                           std::string_view collection);

}  // namespace freshet::command
