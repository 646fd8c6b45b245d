// SPDX-License-Identifier: Apache-2.0
/// DocumentDiff: what turns a document into another one, as a tree: in it, each object and array
/// that changed inside is a node. Objects are compared field by field in their order, so that a
/// field in front of which another one came is removed and inserted again at the end; arrays are
/// compared by index. Linear in the documents' size, but for sets of names. A document in which a
/// name occurs twice is not told from one in which it occurs once.
///
/// Depth: a stored document's (bson::kNestingMax), which bounds all recursion here. Pure; any
/// thread.
#pragma once

#include "freshet/base/status.h"
#include "freshet/bson/builder.h"

#include <cstdint>
#include <vector>

namespace freshet::command {

/// A field of an object, or an element of an array.
struct DiffChange {
    enum class Kind : uint8_t {
        kUpdate,
        kInsert,  // at the end; not in arrays
        kRemove,  // not in arrays
        kInside,  // of an object or array, which is a node of its own
    };
    Kind kind = Kind::kUpdate;
    bson::Element element;  // as it is now; kRemove: as it was
    uint32_t index = 0;     // of an array's element
    uint32_t node = 0;      // kInside: which one
};

struct DiffNode {
    bool isArray = false;
    int32_t newSize = -1;  // of an array that was cut off at its end; -1: it was not
    std::vector<DiffChange> changes;
};

class DocumentDiff {
public:
    enum class Detail : uint8_t {
        /// A nested object is a node. An array is one unless the diff would then be larger than the
        /// value and tell of more than one change in it. So are the events of update operators in
        /// MongoDB, which name the paths that they set.
        kNested,
        kFields,  // no nodes but the root
    };
    /// Both documents must outlive it.
    DocumentDiff(bson::Document before, bson::Document after, Detail detail = Detail::kNested);

    const DiffNode& root() const { return nodes_[0]; }
    const DiffNode& node(uint32_t number) const { return nodes_[number]; }

    /// Adds it as the oplog has it in {$v: 2, diff: {...}}: {d: {removed}, u: {updated},
    /// i: {inserted}, s<name>: {...}}, and for arrays {a: true, l: new size, u<index>: value,
    /// s<index>: {...}}.
    void writeTo(bson::Builder* out) const;

private:
    /// What is known of a part: about its bytes in the oplog, and how many changes it has.
    struct Size {
        uint64_t bytes = 0;
        uint64_t changes = 0;
    };
    struct Sections;  // of an object, as they are written

    Size compareObjects(uint32_t node, bson::Document before, bson::Document after);
    Size compareArrays(uint32_t node, bson::Document before, bson::Document after);
    Size compareValues(uint32_t node, const bson::Element& before, DiffChange change);
    Size addAll(uint32_t node,
                DiffChange::Kind kind,
                const std::vector<bson::Element>& elements,
                const std::vector<bson::Element>& except);
    void writeObject(const DiffNode& node, bson::Builder* out) const;
    void writeArray(const DiffNode& node, bson::Builder* out) const;
    void writeNode(uint32_t number, bson::Builder* out) const;

    Detail detail_;
    std::vector<DiffNode> nodes_;
};

/// The document that a diff in the oplog's form turns `before` into. kInvalid (FailedToParse): the
/// diff has another form or does not belong to the document.
StatusOr<bson::OwnedDocument> applyDiff(bson::Document before, bson::Document diff);

}  // namespace freshet::command
