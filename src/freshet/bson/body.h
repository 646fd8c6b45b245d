// SPDX-License-Identifier: Apache-2.0
/// Checks the document that is a message's body. It may nest a little deeper than stored documents,
/// because a command usually carries those in an array. Any thread.
#pragma once

#include "freshet/bson/view.h"

namespace freshet::bson {

/// Of a request, so that {insert: ..., documents: [<document>]} accepts exactly what may be stored.
inline constexpr int kRequestNestingMax = kNestingMax + 2;
/// Of a reply: {cursor: {firstBatch: [<document>]}}.
inline constexpr int kReplyNestingMax = kNestingMax + 3;

/// As Document::parsePrefix(), except for the number of levels.
StatusOr<Document> parseBodyPrefix(ByteView bytes, int nestingMax);

}  // namespace freshet::bson
