// SPDX-License-Identifier: Apache-2.0
#include "freshet/engine/read_ahead.h"

#include "freshet/engine/keys/prefetch.h"
#include "freshet/engine/node/node.h"
#include "freshet/engine/txn/store_core.h"

#include <algorithm>

namespace freshet::engine {
namespace {

/// Current cores have ten to sixteen cache lines outstanding at a time; requesting more would
/// stall.
constexpr size_t kHalfBytesMax = 576;

}  // namespace

void Probe::begin(Tree& tree, ByteView key) {
    begin(tree.pages(), key);
}

void Probe::begin(PageTree& pages, ByteView key) {
    key_ = key;
    value_ = {};
    node_ = nullptr;
    generation_ = pages.hintGeneration();
    PageEntry* root = &pages.root();
    ask(root);
    // Every descent starts at the root: it is in the cache.
    while (at_ != At::kOver && entry_ == root && (node_ == nullptr || !node_->isLeaf())) {
        step();
    }
}

void Probe::ask(PageEntry* entry) {
    entry_ = entry;
    __builtin_prefetch(&entry->word);
    at_ = At::kEntry;
}

bool Probe::step() {
    switch (at_) {
        case At::kEntry:
            node_ = nodeOf(*entry_);
            askFor(node_, kNodeBytes);
            at_ = At::kNode;
            break;
        case At::kNode:
            at_ = enter();
            break;
        case At::kKeys:
            pos_ = keys().prefetchStretch(node_->pageKey(key_).head);
            at_ = At::kStretch;
            break;
        case At::kStretch:
            at_ = node_->isLeaf() ? findCell() : goDown();
            break;
        case At::kCell:
            static_cast<const LeafNode*>(node_)->image.askForValue(pos_);
            at_ = At::kValue;
            break;
        case At::kValue:
            value_ = static_cast<const LeafNode*>(node_)->image.value(pos_).bytes;
            at_ = At::kOver;
            break;
        case At::kOver:
            break;
    }
    return at_ != At::kOver;
}

Probe::At Probe::enter() {
    if (node_->isLeftOf(key_)) {
        ask(node_->right);
        return At::kEntry;
    }
    if (node_->isOnDisk) {
        return At::kOver;
    }
    if (node_->isLeaf()) {
        static_cast<const LeafNode*>(node_)->prefetch();
    } else {
        keys().prefetch();
    }
    return At::kKeys;
}

const KeyArray& Probe::keys() const {
    return node_->isLeaf() ? static_cast<const LeafNode*>(node_)->image.keys()
                           : static_cast<const InnerNode*>(node_)->separators;
}

Probe::At Probe::goDown() {
    const auto* inner = static_cast<const InnerNode*>(node_);
    const KeyArray::Position place = inner->separators.lowerBound(node_->pageKey(key_), pos_);
    ask(inner->child[place.pos + (place.exact ? 1 : 0)]);
    return At::kEntry;
}

Probe::At Probe::findCell() {
    const auto* leaf = static_cast<const LeafNode*>(node_);
    const KeyArray::Position place = leaf->image.keys().lowerBound(leaf->pageKey(key_), pos_);
    pos_ = place.pos;
    if (!place.exact) {
        return At::kOver;
    }
    if (leaf->image.askForCell(pos_)) {
        return At::kCell;
    }
    leaf->image.askForValue(pos_);
    return At::kValue;
}

void Probe::askForFirstHalf() const {
    askFor(value_.data(), std::min(value_.size(), kHalfBytesMax));
}

void Probe::askForSecondHalf() const {
    const ByteView rest = value_.substr(std::min(value_.size(), kHalfBytesMax));
    askFor(rest.data(), std::min(rest.size(), kHalfBytesMax));
}

}  // namespace freshet::engine
