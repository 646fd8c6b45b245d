// SPDX-License-Identifier: Apache-2.0
/// Why a document fails a validator: the `details` of a DocumentValidationFailure. Pure; any
/// thread.
#pragma once

#include "freshet/query/match.h"

namespace freshet::query {

/// {operatorName, specifiedAs, reason, consideredValue}, with nested details for $and, $or, $nor
/// and $jsonSchema; at most kFailureBytesMax bytes. REQUIRES: `document` does not match.
bson::OwnedDocument whyNot(const Matcher& matcher, bson::Document document);

inline constexpr size_t kFailureBytesMax = 1u << 20;

}  // namespace freshet::query
