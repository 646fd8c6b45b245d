// SPDX-License-Identifier: Apache-2.0
#include "freshet/engine/value_share.h"

#include "freshet/base/assert.h"
#include "freshet/engine/txn/store_core.h"

namespace freshet::engine {

ValueShare::ValueShare(const ValueRef& value, StoreCore* core)
    : buffer_(value.shared), core_(core) {
    buffer_->hold();
    // [share.take] relaxed: the thread that closes the store has synchronized with the end of its
    // users, which took this before.
    core_->shares.fetch_add(1, sync::kRelaxed);
}

ValueShare ValueShare::another() const {
    return isEmpty() ? ValueShare() : ValueShare({view(), buffer_}, core_);
}

ByteView ValueShare::view() const {
    invariant(buffer_ != nullptr);
    return buffer_->bytes();
}

void ValueShare::drop() {
    buffer_->drop();  // which may use the store
    // [share.drop] release: pairs with [share.check], so that this is over when the store ends.
    core_->shares.fetch_sub(1, sync::kRelease);
}

}  // namespace freshet::engine
