// SPDX-License-Identifier: Apache-2.0
#include "freshet/query/read_ahead.h"

#include "freshet/catalog/documents.h"

namespace freshet::query {

bool ReadAhead::add(const catalog::Collection& collection, ByteView key, DocumentHint* hint) {
    if (count_ == kMost) {
        return false;
    }
    One& one = all_[count_++];
    one.collection = &collection;
    one.hint = hint;
    one.key.assign(key);
    return true;
}

bool ReadAhead::step(One* one) {
    if (one->probe.step()) {
        return true;
    }
    (one->isRecord ? one->hint->record : one->hint->id) = one->probe.leaf();
    if (one->isRecord || one->probe.value().empty()) {
        return false;
    }
    const auto id =
        catalog::recordIdOfEntry(*one->collection->indexes[0], one->key, one->probe.value());
    if (!id.isOk()) {
        return false;
    }
    one->isRecord = true;
    one->key = catalog::recordKey(*id);
    one->probe.begin(*one->collection->records, one->key);
    return true;
}

void ReadAhead::run() {
    std::array<One*, kMost> busy;
    size_t left = count_;
    for (size_t i = 0; i < left; ++i) {
        One& one = all_[i];
        one.isRecord = false;
        one.probe.begin(*one.collection->indexes[0]->tree, one.key);
        busy[i] = &one;
    }
    // One alone gains nothing.
    for (left = left > 1 ? left : 0; left > 0;) {
        size_t still = 0;
        for (size_t i = 0; i < left; ++i) {
            if (step(busy[i])) {
                busy[still++] = busy[i];
            }
        }
        left = still;
    }
    count_ = 0;
}

}  // namespace freshet::query
