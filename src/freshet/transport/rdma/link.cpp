// SPDX-License-Identifier: Apache-2.0
#include "freshet/transport/rdma/link.h"

#include <sys/random.h>

#include <algorithm>

namespace freshet::transport::rdma {
namespace {

StatusOr<Nonce> makeNonce() {
    Nonce out;
    if (::getrandom(out.data(), out.size(), 0) != static_cast<ssize_t>(out.size())) {
        return Status(Code::kIo, "The system gives no random bytes");
    }
    return out;
}

Status completionFailure(const verbs::Completion& completion) {
    return Status(Code::kIo,
                  std::string("An RDMA request failed: ") + verbs::name(completion.status));
}

}  // namespace

StatusOr<std::unique_ptr<Link>> Link::create(const LinkGround& ground,
                                             uint32_t tag,
                                             const LinkSizes& sizes) {
    FRESHET_ASSIGN_OR_RETURN(auto ring, RingMemory::create(sizes.ringBytes));
    FRESHET_ASSIGN_OR_RETURN(auto stage, RingMemory::create(sizes.stageBytes));
    std::unique_ptr<Link> link(new Link(ground, tag, sizes, std::move(ring), std::move(stage)));
    FRESHET_RETURN_IF_ERROR(link->open(kInlineMax));
    return link;
}

Link::Link(const LinkGround& ground,
           uint32_t tag,
           const LinkSizes& sizes,
           std::shared_ptr<RingMemory> ring,
           std::shared_ptr<RingMemory> stage)
    : counters_(ground.counters),
      device_(ground.device),
      queue_(ground.queue),
      slabs_(ground.slabs),
      tagBits_(uint64_t{tag} << 32),
      sizes_(sizes),
      stage_(std::move(stage)),
      reader_(ring, sizes.layout, ground.blocks, ground.counters),
      ring_(std::move(ring)) {
    counters_.links.add(1);
    counters_.linksMade.add(1);
}

Link::~Link() {
    if (pair_ != nullptr) {
        pair_->fail();
    }
    counters_.links.subtract(1);
}

Status Link::open(uint32_t inlineBytes) {
    FRESHET_ASSIGN_OR_RETURN(
        pair_,
        device_.makeQueuePair(queue_,
                              {kWrites, kReceives, inlineBytes},
                              slabs_ == nullptr ? nullptr : &slabs_->domain()));
    FRESHET_ASSIGN_OR_RETURN(ringRegion_,
                             pair_->registerMemory(ring_->data(), ring_->bytes(), true));
    FRESHET_ASSIGN_OR_RETURN(stageRegion_,
                             pair_->registerMemory(stage_->data(), stage_->bytes(), false));
    for (uint32_t i = 0; i < kReceives; ++i) {
        FRESHET_RETURN_IF_ERROR(postReceive());
    }
    here_.address = pair_->address();
    here_.ringAddress = reinterpret_cast<uint64_t>(ring_->data());
    here_.ringKey = ringRegion_->remoteKey();
    here_.ringBytes = sizes_.ringBytes;
    here_.receives = kReceives;
    here_.layout = sizes_.layout;
    FRESHET_ASSIGN_OR_RETURN(here_.nonce, makeNonce());
    return Status::ok();
}

Status Link::connect(const EndInfo& peer) {
    meet(peer);
    return pair_->connect(peer.address);
}

void Link::meet(const EndInfo& peer) {
    peer_ = peer;
    credits_ = SendCredits(peer.ringBytes, peer.receives, peer.layout);
}

Status Link::postReceive() {
    return pair_->postReceive(tagBits_ | kReceiveBit);
}

void Link::onCompletion(const verbs::Completion& completion) {
    const bool isReceive = (completion.id & kReceiveBit) != 0;
    if (completion.status != verbs::CompletionStatus::kOk) {
        fail(completionFailure(completion));
    } else if (!failure_.isOk()) {
        return;
    } else if (isReceive) {
        onReceive(completion);
    } else {
        // Writes complete in order, so this completion covers those before it.
        const uint64_t sequence = completion.id & (kReceiveBit - 1);
        completed_ += ((sequence - completed_) & (kReceiveBit - 1)) + 1;
        stageTail_ = stageEnds_[(completed_ - 1) % kWrites];
        while (!held_.empty() && held_.front().until <= completed_) {
            held_.pop_front();
        }
    }
}

void Link::onReceive(const verbs::Completion& completion) {
    Status status = accept(completion);
    if (status.isOk()) {
        status = postReceive();
        reader_.credits().reposted();
    }
    if (!status.isOk()) {
        fail(std::move(status));
    }
}

Status Link::accept(const verbs::Completion& completion) {
    FRESHET_ASSIGN_OR_RETURN(Immediate immediate, decodeImmediate(completion.immediate));
    const bool mayHaveBytes =
        immediate.kind == ImmediateKind::kData || immediate.kind == ImmediateKind::kProbe;
    if ((completion.bytes > 0) != mayHaveBytes || peerDone_) {
        return invalid(Reason::kProtocolError, "An RDMA write that does not fit its kind");
    }
    FRESHET_RETURN_IF_ERROR(credits_.returned(immediate));
    FRESHET_RETURN_IF_ERROR(reader_.credits().arrived(completion.bytes));
    peerDone_ = immediate.kind == ImmediateKind::kGoodbye;
    return Status::ok();
}

Status Link::sendProbe() {
    return post(ImmediateKind::kProbe,
                {peer_.nonce.data(), static_cast<uint32_t>(peer_.nonce.size()), 0},
                true,
                false);
}

Status Link::takeProbe() {
    FRESHET_RETURN_IF_ERROR(failure_);
    Nonce came;
    if (!reader_.takeRaw(came.data(), came.size())) {
        return Status::wouldBlock();
    }
    return came == here_.nonce
               ? Status::ok()
               : invalid(Reason::kProtocolError, "The first bytes are not those agreed upon");
}

StatusOr<bool> Link::next(Message* out) {
    FRESHET_ASSIGN_OR_RETURN(bool found, reader_.next(out));
    if (!found && !failure_.isOk()) {
        return failure_;
    }
    return found;
}

StatusOr<bool> Link::send(ChainCursor& unsent) {
    while (unsent.left() > 0) {
        FRESHET_RETURN_IF_ERROR(failure_);
        const Part part = nextPart(unsent);
        const size_t bytes = part.key.has_value() ? chunkBytes(part.bytes, unsent.left())
                                                  : stagedChunkBytes(part.bytes, unsent.left());
        if (bytes == 0) {
            counters_.creditStalls.add(1);
            return false;
        }
        Status sent = part.key.has_value() ? sendInPlace(unsent, bytes, *part.key)
                                           : sendStaged(unsent, bytes);
        if (!sent.isOk()) {
            fail(sent);
            return sent;
        }
    }
    return true;
}

/// A piece is sent in place as a whole; if its slab was registered while the piece was half sent,
/// from there on. Never into a slot, which takes a message in one write.
Link::Part Link::nextPart(const ChainCursor& unsent) {
    if (slabs_ == nullptr || sizes_.layout == Layout::kOneSlot) {
        return {unsent.left(), std::nullopt};
    }
    size_t before = 0;
    for (size_t by = 0; before < unsent.left(); ++by) {
        const ByteView piece = unsent.ahead(by);
        if (piece.size() >= kInPlaceBytesMin && unsent.holderAhead(by) != nullptr) {
            if (const std::optional<uint32_t> key = slabs_->keyOf(piece)) {
                return by == 0 ? Part{unsent.front().size(), key} : Part{before, std::nullopt};
            }
        }
        before += by == 0 ? unsent.front().size() : piece.size();
    }
    return {before, std::nullopt};
}

size_t Link::chunkBytes(size_t part, size_t left) const {
    if (writesInProgress() + kWritesKept >= kWrites ||
        credits_.freeBytes() < std::min(left, kSmallRoom)) {
        return 0;
    }
    return std::min({part, credits_.room(), chunkBytesMax(peer_.ringBytes)});
}

size_t Link::stagedChunkBytes(size_t part, size_t left) {
    const size_t inlineMax = std::min<size_t>(pair_->inlineBytesMax(), kInlineMax);
    const size_t bytes = chunkBytes(part, left);
    if (bytes <= inlineMax) {
        return bytes;
    }
    const size_t staged = std::min(bytes, stageRoom(bytes));
    return staged < std::min(bytes, kSmallRoom) ? 0
                                                : std::min(staged, chunkBytesMax(stage_->bytes()));
}

/// Contiguous room. A rest at the stage's end that is too small for a chunk is skipped.
size_t Link::stageRoom(size_t wanted) {
    const size_t toEnd = stage_->bytes() - stageHead_ % stage_->bytes();
    if (toEnd < std::min(wanted, kSmallRoom) && toEnd <= stageFree()) {
        stageHead_ += toEnd;
    }
    return std::min(stageFree(), stage_->bytes() - stageHead_ % stage_->bytes());
}

Status Link::sendStaged(ChainCursor& unsent, size_t bytes) {
    const auto size = static_cast<uint32_t>(bytes);
    const size_t inlineMax = std::min<size_t>(pair_->inlineBytesMax(), kInlineMax);
    if (bytes <= inlineMax) {
        std::array<char, kInlineMax> gathered;
        const char* from = gathered.data();
        if (unsent.front().size() >= bytes) {
            from = unsent.front().data();
            FRESHET_RETURN_IF_ERROR(post(ImmediateKind::kData, {from, size, 0}, true, false));
            unsent.advance(bytes);
            return Status::ok();
        }
        unsent.copyTo(gathered.data(), bytes);
        return post(ImmediateKind::kData, {from, size, 0}, true, false);
    }
    char* to = stage_->data() + stageHead_ % stage_->bytes();
    unsent.copyTo(to, bytes);
    counters_.stagedBytes.add(bytes);
    const size_t taken = sizes_.layout == Layout::kOneSlot ? stage_->bytes() : bytes;
    stageHead_ += taken;
    stagedSinceSignal_ += taken;
    return post(ImmediateKind::kData, {to, size, stageRegion_->localKey()}, false, false);
}

/// The last write of a piece is signalled, so that the piece is held no longer than the adapter
/// needs it.
Status Link::sendInPlace(ChainCursor& unsent, size_t bytes, uint32_t key) {
    const ByteView piece = unsent.front();
    hold(unsent.holderAhead(0));
    counters_.sentInPlaceBytes.add(bytes);
    FRESHET_RETURN_IF_ERROR(post(ImmediateKind::kData,
                                 {piece.data(), static_cast<uint32_t>(bytes), key},
                                 false,
                                 bytes == piece.size()));
    unsent.advance(bytes);
    return Status::ok();
}

/// REQUIRES: the next write is the one that uses `holder`.
void Link::hold(const std::shared_ptr<const void>& holder) {
    if (held_.empty() || held_.back().holder != holder) {
        held_.push_back({0, holder});
    }
    held_.back().until = posted_ + 1;
}

Status Link::post(ImmediateKind kind, verbs::Piece piece, bool isInline, bool isSignalled) {
    isSignalled =
        isSignalled || ++sinceSignal_ >= kSignalEvery || stagedSinceSignal_ >= stage_->bytes() / 4;
    if (isSignalled) {
        sinceSignal_ = 0;
        stagedSinceSignal_ = 0;
    }
    verbs::Write write;
    write.piece = piece;
    write.remoteAddress = peer_.ringAddress + credits_.position();
    write.remoteKey = peer_.ringKey;
    write.immediate = encodeImmediate(reader_.credits().take(kind));
    write.isInline = isInline;
    write.isSignalled = isSignalled;
    credits_.sent(piece.bytes);
    counters_.writes.add(1);
    counters_.inlineWrites.add(isInline ? 1 : 0);
    return postNext(write);
}

Status Link::postNext(verbs::Write write) {
    write.id = tagBits_ | (posted_ & (kReceiveBit - 1));
    stageEnds_[posted_ % kWrites] = stageHead_;
    ++posted_;
    return pair_->postWrite(write);
}

void Link::askForSign() {
    if (!failure_.isOk() || saidGoodbye_ || writesInProgress() + kWritesKept >= kWrites) {
        return;  // writes in progress serve the same purpose
    }
    verbs::Write write;
    write.remoteAddress = peer_.ringAddress;
    write.remoteKey = peer_.ringKey;
    write.isInline = true;
    write.isSilent = true;
    write.isSignalled = true;
    if (Status asked = postNext(write); !asked.isOk()) {
        fail(std::move(asked));
    }
}

void Link::tellCredit() {
    ReceiveCredits& owed = reader_.credits();
    const bool isAllowed = owed.owesReceives() ? credits_.maySendReturn() : credits_.maySendPlain();
    if (!owed.isDue() || !isAllowed || !failure_.isOk() || saidGoodbye_ ||
        writesInProgress() >= kWrites - 1) {
        return;
    }
    counters_.creditWrites.add(1);
    if (Status sent = post(ImmediateKind::kCredit, {}, true, false); !sent.isOk()) {
        fail(std::move(sent));
    }
}

void Link::sayGoodbye() {
    if (!failure_.isOk() || saidGoodbye_) {
        return;
    }
    saidGoodbye_ = true;
    if (!credits_.maySendReturn()) {
        fail(Status(Code::kCancelled, "The peer accepts nothing more"));
    } else if (Status said = post(ImmediateKind::kGoodbye, {}, true, true); !said.isOk()) {
        fail(std::move(said));
    }
}

void Link::fail(Status why) {
    if (failure_.isOk()) {
        failure_ = std::move(why);
    }
}

}  // namespace freshet::transport::rdma
