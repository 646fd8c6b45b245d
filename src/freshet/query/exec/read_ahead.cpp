// SPDX-License-Identifier: Apache-2.0
#include "freshet/query/read_ahead.h"

#include "freshet/catalog/documents.h"

#include <utility>

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
    if (one->at == One::At::kEntry) {
        return takeEntry(one);
    }
    if (one->probe.step()) {
        return true;
    }
    if (one->at == One::At::kSecondTree) {
        one->hint->record = one->probe.leaf();
        return false;
    }
    one->hint->id = one->probe.leaf();
    one->probe.askForFirstHalf();
    one->at = One::At::kEntry;
    return !one->probe.value().empty();
}

/// Goes from the index entry to the document's own tree.
bool ReadAhead::takeEntry(One* one) {
    const auto id =
        catalog::recordIdOfEntry(*one->collection->indexes[0], one->key, one->probe.value());
    if (!id.isOk()) {
        return false;
    }
    one->at = One::At::kSecondTree;
    one->key = catalog::recordKey(*id);
    one->probe.begin(*one->collection->records, one->key);
    return true;
}

void ReadAhead::run() {
    std::array<One*, kMost> busy;
    size_t left = count_;
    for (size_t i = 0; i < left; ++i) {
        One& one = all_[i];
        one.at = One::At::kFirstTree;
        one.probe.begin(*one.collection->indexes[0]->tree, one.key);
        busy[i] = &one;
    }
    // A single document gains nothing.
    for (left = left > 1 ? left : 0; left > 0;) {
        size_t still = 0;
        for (size_t i = 0; i < left; ++i) {
            if (step(busy[i])) {
                busy[still++] = busy[i];
            }
        }
        left = still;
    }
    found_ = std::exchange(count_, 0);
    asked_ = 0;
    askForNext();
    askForRest();
}

void ReadAhead::askForNext() {
    if (asked_ < found_) {
        next_ = &all_[asked_++].probe;
        next_->askForFirstHalf();
    }
}

void ReadAhead::askForRest() {
    if (const engine::Probe* next = std::exchange(next_, nullptr)) {
        next->askForSecondHalf();
    }
}

}  // namespace freshet::query
