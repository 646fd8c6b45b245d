// SPDX-License-Identifier: Apache-2.0
/// A hash table with open addressing, at most half full.
#include "freshet/bson/field_index.h"

#include <absl/hash/hash.h>

#include <bit>

namespace freshet::bson {

FieldIndex::FieldIndex(Document document)
    : document_(document),
      slots_(std::bit_ceil(2 * static_cast<size_t>(document.fieldCount()) + 1)) {
    for (const Element& field : document) {
        uint32_t& slot = slots_[slotOf(field.name())];
        if (slot == 0) {
            slot = static_cast<uint32_t>(field.whole().data() - document.data());
        }
    }
}

Element FieldIndex::find(std::string_view name) const {
    const uint32_t at = slots_[slotOf(name)];
    return at == 0 ? Element() : Element(document_.data() + at);
}

/// The slot that holds a field of that name, or the free one where it would be.
size_t FieldIndex::slotOf(std::string_view name) const {
    const size_t mask = slots_.size() - 1;
    size_t slot = absl::Hash<std::string_view>()(name) & mask;
    while (slots_[slot] != 0 && Element(document_.data() + slots_[slot]).name() != name) {
        slot = (slot + 1) & mask;
    }
    return slot;
}

}  // namespace freshet::bson
