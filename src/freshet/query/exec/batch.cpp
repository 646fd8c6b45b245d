// SPDX-License-Identifier: Apache-2.0
/// Batch: documents collected as the elements of a BSON array, and those that are left out of it.
#include "freshet/base/assert.h"
#include "freshet/query/cursor.h"

namespace freshet::query {
namespace {

/// Besides the document: its name and type, and what follows the array in a reply.
constexpr size_t kAroundBytes = 256;

}  // namespace

bool Batch::add(bson::Document document, engine::ValueShare&& share) {
    if (isFull()) {
        return false;
    }
    if (count_ > 0 && array_->size() + bytesLeftOut() + document.size() > bytesMax_) {
        full_ = true;
        return false;
    }
    if (!share.isEmpty() && mayBorrow()) {
        dcheck(share.view().data() == document.data());
        borrow(std::move(share));
    } else {
        array_->reserve(document.size() + kAroundBytes);
        array_->push(document);
    }
    ++count_;
    return true;
}

void Batch::borrow(engine::ValueShare document) {
    if (*borrowed_ == nullptr) {
        *borrowed_ = std::make_unique<BorrowedDocuments>();
    }
    array_->addRaw(array_->nextIndex(), bson::Type::kObject, {});
    (*borrowed_)->add(array_->endsAt(), std::move(document));
}

}  // namespace freshet::query
