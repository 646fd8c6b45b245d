// SPDX-License-Identifier: Apache-2.0
#include "freshet/engine/range_count.h"

#include "freshet/base/assert.h"
#include "freshet/engine/txn/txn_impl.h"

namespace freshet::engine {
namespace {

/// After so many leaves the count yields, so that others run and the epoch can advance.
constexpr uint32_t kLeavesPerTurn = 256;

}  // namespace

struct RangeCount::Impl {
    Txn::Impl* const txn;
    const TreeRef tree;
    std::string low;  // of what is left
    const std::string end;
    uint64_t count;
    bool isDone;
};

RangeCount::RangeCount(Txn& txn, TreeRef tree, std::string low, std::string end)
    : impl_(new Impl{txn.impl_.get(), std::move(tree), std::move(low), std::move(end), 0, false}) {
    impl_->isDone = !impl_->end.empty() && impl_->end <= impl_->low;
}

RangeCount::~RangeCount() = default;

uint64_t RangeCount::count() const {
    return impl_->count;
}

bool RangeCount::isDone() const {
    return impl_->isDone;
}

const std::string& RangeCount::rest() const {
    dcheck(!impl_->isDone);
    return impl_->low;
}

Status RangeCount::run(uint64_t most) {
    Impl& impl = *impl_;
    Txn::Impl& txn = *impl.txn;
    invariant(txn.state == Txn::Impl::State::kOpen);
    sync::Slice slice(txn.core->epochs);
    if (txn.hasEnded()) {
        return Txn::Impl::snapshotTooOld();
    }
    for (uint32_t leaves = 0; !impl.isDone; ++leaves) {
        if (leaves == kLeavesPerTurn) {
            txn.token = sync::WaitToken::completed();
            return Status::wouldBlock();
        }
        LeafCount leaf = impl.tree->pages().countLeaf(impl.low, impl.end, txn.view());
        if (txn.wereWritesEnded()) {
            return Txn::Impl::endedByAnother();
        }
        if (leaf.fault.leaf != nullptr) {
            return txn.want(*impl.tree, leaf.fault);
        }
        if (leaf.entries > most - impl.count) {
            return Status::ok();
        }
        impl.count += leaf.entries;
        impl.isDone = leaf.next.empty() || leaf.next == impl.end;
        impl.low = std::move(leaf.next);
    }
    return Status::ok();
}

}  // namespace freshet::engine
