// SPDX-License-Identifier: Apache-2.0
/// ResumeToken: a place in the log, as change streams give it to clients and get it back:
/// {_data: "<hexadecimal digits>"}. Comparing two tokens' digits compares their places. The digits
/// are those of
///
///   version:8 | timestamp:64 | lsn:64 | number:32 | kind:8 | part + 1:32 | checksum:16
///
/// big-endian, kind being 0 for a high-water mark, 1 for an event and 2 for its invalidation. Pure;
/// any thread.
#pragma once

#include "freshet/base/status.h"
#include "freshet/bson/builder.h"
#include "freshet/journal/journal.h"

#include <cstdint>

namespace freshet::command {

struct ResumeToken {
    uint64_t timestamp = 0;  // seconds << 32 | counter
    journal::Lsn lsn = 0;    // of the commit's last record; 0: known by its time only
    uint32_t number = 0;     // of the event in its commit
    int32_t part = -1;       // of an event that is sent in parts, from 0; -1: the whole event
    /// Everything in front of the place was seen; it says nothing of an event at the place.
    bool isHighWaterMark = false;
    /// Behind the event, which has ended the stream.
    bool isInvalidate = false;
};

/// REQUIRES: a high-water mark is neither an invalidation nor a part.
bson::OwnedDocument toDocument(const ResumeToken& token);

/// kInvalid with MongoDB's errors: Location40647, 40648, 40649 and FailedToParse for what is no
/// token at all, and ChangeStreamFatalError, which says that the token was not found, for one that
/// another server has made.
StatusOr<ResumeToken> parseResumeToken(bson::Document document);

}  // namespace freshet::command
