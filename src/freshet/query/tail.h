// SPDX-License-Identifier: Apache-2.0
/// TailSource: documents that come into being while a cursor waits for them: the events of a change
/// stream, the entries of the oplog.
///
/// Thread rule: as QueryCursor. Between two calls it holds no snapshot and no page.
#pragma once

#include "freshet/base/status.h"
#include "freshet/bson/builder.h"
#include "freshet/sync/wait_token.h"

#include <cstdint>

namespace freshet::query {

class TailSource {
public:
    virtual ~TailSource() = default;
    /// The next document; its bytes are valid until the next call. WouldBlock: wait for token() and
    /// call again. Any other error is final.
    virtual Status next(bson::Document* document) = 0;
    virtual const sync::WaitToken& token() const = 0;
    /// After WouldBlock: everything that exists so far has been given, and token() completes when
    /// there may be more. False: the call was only not finished.
    virtual bool isDry() const = 0;
    /// next() will give nothing more.
    virtual bool isOver() const = 0;
    /// From where a new source would continue: behind the document that next() gave last or, if
    /// nothing was of interest since, behind everything that was looked at. {} if it has no such
    /// places.
    virtual bson::OwnedDocument resumeToken() const { return {}; }
    /// The token of part `number` (from 0) of the document that next() gave last.
    virtual bson::OwnedDocument tokenOfPart(int32_t /*number*/) const { return {}; }
    /// About how much memory it holds.
    virtual uint64_t heldBytes() const = 0;
};

}  // namespace freshet::query
