// SPDX-License-Identifier: Apache-2.0
/// Cursor: reads ahead in small, then larger portions, so that most steps touch no page. A portion
/// is dropped if the Txn has written or begun again since it was read.
#include "freshet/base/assert.h"
#include "freshet/engine/txn/txn_impl.h"

#include <algorithm>
#include <optional>

namespace freshet::engine {

namespace {

constexpr uint32_t kFirstPortion = 2;  // one key, and the entry that shows that it was the only one
constexpr uint32_t kPortionMax = 128;
constexpr uint32_t kPortionGrowth = 4;
/// For so many faults a walk asks for the missing leaf only: few walks meet more.
constexpr uint32_t kFaultsAlone = 2;
/// How many leaves it then asks for in advance; as many as are read at a time.
constexpr size_t kLeavesAhead = 4;

/// Copies of consecutive entries. Shared values are held, not copied.
class Portion {
public:
    Portion() = default;
    ~Portion() { clear(); }
    Portion(const Portion&) = delete;
    Portion& operator=(const Portion&) = delete;

    void clear() {
        for (const Entry& entry : entries_) {
            if (entry.shared != nullptr) {
                entry.shared->drop();
            }
        }
        entries_.clear();
        bytes_.clear();
    }
    void add(ByteView key, const ValueRef& value) {
        entries_.push_back({bytes_.size(), key.size(), value.bytes.size(), value.shared});
        bytes_.append(key);
        if (value.shared != nullptr) {
            value.shared->hold();
        } else {
            bytes_.append(value.bytes);
        }
    }
    size_t size() const { return entries_.size(); }
    ByteView key(size_t i) const {
        return ByteView(bytes_).substr(entries_[i].offset, entries_[i].keyBytes);
    }
    ByteView value(size_t i) const {
        const Entry& entry = entries_[i];
        return entry.shared != nullptr
                   ? entry.shared->bytes()
                   : ByteView(bytes_).substr(entry.offset + entry.keyBytes, entry.valueBytes);
    }

    ValueRef valueRef(size_t i) const { return {value(i), entries_[i].shared}; }

private:
    struct Entry {
        size_t offset;
        size_t keyBytes;
        size_t valueBytes;
        ValueBuffer* shared;
    };
    std::string bytes_;
    std::vector<Entry> entries_;
};

}  // namespace

struct Cursor::Impl {
    enum class Op : uint8_t { kNone, kSeek, kSeekBefore, kFirst, kLast, kNext, kPrev };

    Impl(Txn::Impl* owner, TreeRef treeRef) : txn(owner), tree(std::move(treeRef)) {}

    /// Positions on the first entry from `where` on. A call that could not finish goes on where it
    /// stopped when it is repeated.
    Status start(Op op, Direction towards, WalkFrom where);
    Status step(Op op, Direction towards);
    Status fill(Direction towards);
    /// Asks for the leaf that stopped the walk and, in a long walk forward, for the next ones as
    /// well.
    Status askFor(const Fault& fault);

    Txn::Impl* const txn;
    const TreeRef tree;
    Portion portion;
    size_t index = 0;  // of the current entry
    Direction direction = Direction::kForward;
    uint32_t portionEntries = kFirstPortion;
    WalkResult beyond;              // where the portion ended
    uint64_t serial = 0;            // the Txn's, when the portion was read
    uint32_t faults = 0;            // that the walk has met
    std::optional<LostRange> lost;  // where the last call failed
    // The operation that returned WouldBlock last.
    Op pending = Op::kNone;
    std::string pendingKey;
};

Cursor::Cursor(Txn& txn, TreeRef tree)
    : impl_(std::make_unique<Impl>(txn.impl_.get(), std::move(tree))) {}

Cursor::~Cursor() = default;

Status Cursor::Impl::fill(Direction towards) {
    invariant(txn->state == Txn::Impl::State::kOpen);
    portion.clear();
    lost.reset();
    index = 0;
    direction = towards;
    serial = txn->serial;
    sync::Slice slice(txn->core->epochs);
    if (txn->hasEnded()) {
        return Txn::Impl::snapshotTooOld();
    }
    const WalkBudget budget{.entries = portionEntries};
    const WalkFrom from = std::move(beyond.next);
    beyond = tree->pages().walk(
        towards, from, budget, txn->view(), [this](ByteView key, const ValueRef& value) {
            portion.add(key, value);
        });
    if (txn->wereWritesEnded()) {
        portion.clear();
        return Txn::Impl::endedByAnother();
    }
    if (portion.size() != 0) {
        portionEntries = std::min(portionEntries * kPortionGrowth, kPortionMax);
    }
    if (portion.size() == 0 && !beyond.atEnd) {
        if (beyond.fault.leaf != nullptr) {
            return askFor(beyond.fault);
        }
        txn->token = sync::WaitToken::completed();
        return Status::wouldBlock();
    }
    pending = Op::kNone;
    return Status::ok();
}

Status Cursor::Impl::askFor(const Fault& fault) {
    const Status asked = txn->want(*tree, fault);
    if (asked.code() == Code::kCorruption || asked.code() == Code::kIo) {
        lost = {fault.leaf->low.string(), fault.leaf->high.string(), fault.leaf->entries};
    }
    if (++faults > kFaultsAlone && direction == Direction::kForward) {
        for (const Fault& next : LeafEviction::faultsBehind(fault, kLeavesAhead)) {
            // No thread waits for it yet; an error is reported to the call that needs the leaf.
            sync::WaitToken unused;
            (void)txn->core->loads->want(*tree, next, &unused);
        }
    }
    return asked;
}

Status Cursor::Impl::start(Op op, Direction towards, WalkFrom where) {
    if (pending != op || pendingKey != where.key || serial != txn->serial) {
        pending = op;
        pendingKey = where.key;
        portionEntries = kFirstPortion;
        faults = 0;
        beyond = {false, std::move(where), {}};
    }
    return fill(towards);
}

Status Cursor::Impl::step(Op op, Direction towards) {
    if (pending == op) {
        return fill(towards);
    }
    invariant(pending == Op::kNone && index < portion.size());
    const bool current = direction == towards && serial == txn->serial;
    if (current && index + 1 < portion.size()) {
        ++index;
        return Status::ok();
    }
    if (!current) {
        portionEntries = kFirstPortion;
        beyond = {false, {Edge::kNone, std::string(portion.key(index)), false}, {}};
    }
    if (beyond.atEnd) {
        portion.clear();
        index = 0;
        return Status::ok();
    }
    pending = op;
    return fill(towards);
}

Status Cursor::seek(ByteView key) {
    return impl_->start(
        Impl::Op::kSeek, Direction::kForward, {Edge::kNone, std::string(key), true});
}

Status Cursor::seekBefore(ByteView key) {
    return impl_->start(
        Impl::Op::kSeekBefore, Direction::kBackward, {Edge::kNone, std::string(key), true});
}

Status Cursor::first() {
    return impl_->start(Impl::Op::kFirst, Direction::kForward, {Edge::kFirst, {}, true});
}

Status Cursor::last() {
    return impl_->start(Impl::Op::kLast, Direction::kBackward, {Edge::kLast, {}, true});
}

Status Cursor::next() {
    return impl_->step(Impl::Op::kNext, Direction::kForward);
}

Status Cursor::prev() {
    return impl_->step(Impl::Op::kPrev, Direction::kBackward);
}

bool Cursor::valid() const {
    return impl_->index < impl_->portion.size();
}

const LostRange* Cursor::lost() const {
    return impl_->lost ? &*impl_->lost : nullptr;
}

ByteView Cursor::key() const {
    invariant(valid());
    return impl_->portion.key(impl_->index);
}

ByteView Cursor::value() const {
    invariant(valid());
    return impl_->portion.value(impl_->index);
}

ValueShare Cursor::share(size_t bytesMin) const {
    invariant(valid());
    const ValueRef value = impl_->portion.valueRef(impl_->index);
    const bool isShared = value.shared != nullptr && value.bytes.size() >= bytesMin;
    return isShared ? ValueShare(value, impl_->txn->core.get()) : ValueShare();
}

}  // namespace freshet::engine
