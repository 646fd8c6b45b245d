// SPDX-License-Identifier: Apache-2.0
/// The entries of a document in an index. An entry's key is the key form of the indexed values,
/// followed by the 8-byte record id unless the index is unique; a unique entry has the id as its
/// value. An array along a path gives one entry per element. Pure; any thread.
#pragma once

#include "freshet/catalog/catalog.h"

#include <string>
#include <vector>

namespace freshet::catalog {

/// Limit for all keys of one document in one index: a long value next to a long array would be in
/// each of them.
inline constexpr size_t kKeysBytesMax = 64u << 20;

struct IndexKeys {
    std::vector<std::string> keys;  // ascending, no two equal, without record ids
    bool multikey = false;          // the path met an array
};

/// kInvalid with kParallelArrays when two paths go through different arrays; kLimit when a key is
/// longer than the engine allows, or all keys together are longer than kKeysBytesMax. A sparse
/// index has no entry if all paths are missing, a partial one none if its filter does not match.
Status makeIndexKeys(const Index& index, bson::Document document, IndexKeys* out);

/// The entry's key and value in the index's tree.
std::string entryKey(const Index& index, ByteView key, RecordId id);
std::string entryValue(const Index& index, RecordId id);

/// The values of one of the document's keys, with the paths as names: {a: 1, "b.c": "x"}.
bson::OwnedDocument keyValues(const Index& index, bson::Document document, ByteView key);

/// kExists (kDuplicateKey) with the protocol's text; *info: {keyPattern: ..., keyValue: ...}.
Status duplicateKey(const Collection& collection,
                    const Index& index,
                    bson::Document document,
                    ByteView key,
                    bson::OwnedDocument* info);

}  // namespace freshet::catalog
