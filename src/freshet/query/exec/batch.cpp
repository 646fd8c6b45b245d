// SPDX-License-Identifier: Apache-2.0
/// Batch: documents gathered as the elements of a BSON array.
#include "freshet/query/cursor.h"

namespace freshet::query {
namespace {

/// Besides a document: its name and type, and what a reply says behind the array.
constexpr size_t kAroundBytes = 256;

}  // namespace

bool Batch::add(bson::Document document) {
    if (isFull()) {
        return false;
    }
    if (count_ > 0 && array_->size() + document.size() > bytesMax_) {
        full_ = true;
        return false;
    }
    array_->reserve(document.size() + kAroundBytes);
    array_->push(document);
    ++count_;
    return true;
}

}  // namespace freshet::query
