// SPDX-License-Identifier: Apache-2.0
/// The fields of one document by name, for a document that is asked for many: Document::find()
/// looks at one field after the other. Four to eight bytes a field. One thread at a time.
#pragma once

#include "freshet/bson/view.h"

#include <string_view>
#include <vector>

namespace freshet::bson {

class FieldIndex {
public:
    /// The document's bytes must outlive the index and stay as they are.
    explicit FieldIndex(Document document);
    /// As Document::find(): the first field of that name; missing when there is none.
    Element find(std::string_view name) const;

private:
    size_t slotOf(std::string_view name) const;

    Document document_;
    std::vector<uint32_t> slots_;  // where a field begins in the document; 0: none
};

}  // namespace freshet::bson
