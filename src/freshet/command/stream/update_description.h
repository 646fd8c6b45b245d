// SPDX-License-Identifier: Apache-2.0
/// What a change stream's event says of an update: {updatedFields: {<path>: <value>},
/// removedFields: [<path>], truncatedArrays: [{field: <path>, newSize: <int32>}],
/// disambiguatedPaths: {<path>: [<names and indexes>]}}. Pure; any thread.
#pragma once

#include "freshet/bson/builder.h"

namespace freshet::command {

/// Its bytes do not exceed bson::kDocumentBytesMax by more than names: where they would, because
/// long names precede many changes, nested objects and arrays are given whole.
/// `withPaths`: with disambiguatedPaths, which has an entry for each path in which a name has a dot
/// or is a number.
bson::OwnedDocument describeUpdate(bson::Document before, bson::Document after, bool withPaths);

/// {$v: 2, diff: {...}}, as the oplog has it.
bson::OwnedDocument rawUpdateDescription(bson::Document before, bson::Document after);

}  // namespace freshet::command
