// SPDX-License-Identifier: Apache-2.0
/// Why a document fails a validator: the `details` of a DocumentValidationFailure. Pure; any
/// thread.
#pragma once

#include "freshet/query/match.h"

namespace freshet::query {

/// REQUIRES: `document` does not match. {operatorName, specifiedAs, reason, consideredValue}, with
/// what lies below for $and, $or, $nor and $jsonSchema. At most kFailureBytesMax of it.
bson::OwnedDocument whyNot(const Matcher& matcher, bson::Document document);

inline constexpr size_t kFailureBytesMax = 1u << 20;

}  // namespace freshet::query
