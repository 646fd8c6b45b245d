// SPDX-License-Identifier: Apache-2.0
/// Checks the document that is a message's body, which may nest a little deeper than what is
/// stored: what a client stores mostly stands in an array of it. Any thread.
#pragma once

#include "freshet/bson/view.h"

namespace freshet::bson {

/// Of a request, so that {insert: ..., documents: [<document>]} takes what may be stored and no
/// more.
inline constexpr int kRequestNestingMax = kNestingMax + 2;
/// Of a reply: {cursor: {firstBatch: [<document>]}}.
inline constexpr int kReplyNestingMax = kNestingMax + 3;

/// As Document::parsePrefix(), but for the levels.
StatusOr<Document> parseBodyPrefix(ByteView bytes, int nestingMax);

}  // namespace freshet::bson
