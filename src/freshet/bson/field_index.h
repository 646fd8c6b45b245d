// SPDX-License-Identifier: Apache-2.0
/// The fields of one document by name, for documents that are searched often: Document::find()
/// looks at one field after another. Four to eight bytes per field. One thread at a time.
#pragma once

#include "freshet/bson/view.h"

#include <string_view>
#include <vector>

namespace freshet::bson {

class FieldIndex {
public:
    /// The document's bytes must outlive the index and must not change.
    explicit FieldIndex(Document document);
    /// As Document::find(): the first field of that name; missing if there is none.
    Element find(std::string_view name) const;

private:
    size_t slotOf(std::string_view name) const;

    Document document_;
    std::vector<uint32_t> slots_;  // the field's offset in the document; 0: none
};

}  // namespace freshet::bson
