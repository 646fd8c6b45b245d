// SPDX-License-Identifier: Apache-2.0
/// Link: the data path of one RDMA session, between a queue pair and whole messages. It never
/// waits: its user calls again after progress was reported. One thread at a time. The protocol is
/// in docs/formats/rdma.md.
#pragma once

#include "freshet/transport/rdma/chain_cursor.h"
#include "freshet/transport/rdma/ring_reader.h"
#include "freshet/transport/slabs/slab_regions.h"
#include "freshet/transport/verbs.h"
#include "freshet/wire/frame.h"

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>

namespace freshet::transport::rdma {

using Nonce = std::array<char, 16>;

/// What each side announces about its end.
struct EndInfo {
    verbs::Address address;
    uint64_t ringAddress = 0;
    uint32_t ringKey = 0;
    uint32_t ringBytes = 0;
    uint32_t receives = 0;
    Nonce nonce{};  // the other side returns it through the ring
    Layout layout = Layout::kRing;
};

struct LinkSizes {
    uint32_t ringBytes = 256 * 1024;  // a multiple of the page size
    uint32_t stageBytes = 128 * 1024;
    Layout layout = Layout::kRing;
    /// The one-slot layout: a slot of the largest message on each side, and one to send from.
    static LinkSizes oneSlot() {
        constexpr uint32_t kPageBytes = 4096;
        constexpr uint32_t kBytes = (wire::kMessageBytesMax / kPageBytes + 1) * kPageBytes;
        return {kBytes, kBytes, Layout::kOneSlot};
    }
};

/// What the links of one thread share. It outlives them.
struct LinkGround {
    verbs::Device& device;
    verbs::CompletionQueue& queue;
    BlockPool& blocks;
    LinkCounters& counters;
    SlabRegions* slabs = nullptr;  // null: everything that is sent is copied
};

class Link {
public:
    static constexpr uint32_t kReceives = 32;
    static constexpr uint32_t kWrites = 64;
    static constexpr uint32_t kRingBytesMin = 64 * 1024;
    static constexpr uint32_t kRingBytesMax = 64 * 1024 * 1024;
    /// Pieces of at least this size are sent from where they lie, if that is a slab.
    static constexpr size_t kInPlaceBytesMin = 16 * 1024;
    /// The most completions that can be pending for one link.
    static constexpr uint32_t kCompletionsMax = kReceives + kWrites;

    /// `tag` is in the upper half of every completion's id. The receives are posted: the peer may
    /// write once it knows here().
    static StatusOr<std::unique_ptr<Link>> create(const LinkGround& ground,
                                                  uint32_t tag,
                                                  const LinkSizes& sizes);
    ~Link();
    Link(const Link&) = delete;
    Link& operator=(const Link&) = delete;

    const EndInfo& here() const { return here_; }
    /// Once. `peer` has been checked by isUsable().
    Status connect(const EndInfo& peer);
    /// The same where the connection manager connects pair(). Before the peer learns of it.
    void meet(const EndInfo& peer);
    verbs::QueuePair& pair() { return *pair_; }
    static uint32_t tagOf(uint64_t completionId) {
        return static_cast<uint32_t>(completionId >> 32);
    }
    void onCompletion(const verbs::Completion& completion);

    /// Sends the peer's nonce back to it; takeProbe() takes ours.
    Status sendProbe();
    /// kWouldBlock: it has not come. kInvalid: it is not ours.
    Status takeProbe();

    /// See RingReader::next(). Once all that came before has been handed out, fails with the link's
    /// failure.
    StatusOr<bool> next(Message* out);
    /// Sends as much as possible. True: all of it. The link holds what is sent in place until the
    /// adapter has finished with it, or the link is destroyed; the chain may be destroyed earlier.
    StatusOr<bool> send(ChainCursor& unsent);
    /// Returns credit when enough is owed for a message of its own. Call it before waiting for
    /// anything.
    void tellCredit();
    /// Makes an empty write, which the peer's adapter acknowledges and the peer never sees: without
    /// an acknowledgement the link fails.
    void askForSign();
    /// Nothing is sent afterwards. isSettled() is true once the peer's adapter has everything, or
    /// never will.
    void sayGoodbye();
    bool isSettled() const { return !failure_.isOk() || (saidGoodbye_ && isAllDone()); }
    /// Ends the link for a reason from outside: the peer's process, the device. The first one
    /// counts.
    void fail(Status why);

    /// Not ok: the link is no longer usable.
    const Status& failure() const { return failure_; }
    bool isPeerDone() const { return peerDone_; }
    RingReader& reader() { return reader_; }

private:
    static constexpr uint64_t kReceiveBit = uint64_t{1} << 31;
    static constexpr uint32_t kSignalEvery = 16;
    static constexpr uint32_t kWritesKept = 2;  // of the send queue, reserved for credit and
                                                // goodbye
    static constexpr size_t kInlineMax = 256;
    static constexpr size_t kSmallRoom = 4096;  // less than that is not worth a chunk

    Link(const LinkGround& ground,
         uint32_t tag,
         const LinkSizes& sizes,
         std::shared_ptr<RingMemory> ring,
         std::shared_ptr<RingMemory> stage);
    Status open(uint32_t inlineBytes);
    Status postReceive();
    void onReceive(const verbs::Completion& completion);
    Status accept(const verbs::Completion& completion);
    /// With `of` bytes of room: small enough that one chunk is on its way while the next is made;
    /// with one slot, all of it.
    size_t chunkBytesMax(size_t of) const {
        return sizes_.layout == Layout::kOneSlot ? of : of / 4;
    }
    /// Bytes that are sent the same way: one piece in place, or what is copied up to the next such
    /// piece.
    struct Part {
        size_t bytes;
        std::optional<uint32_t> key;  // of the slab
    };
    Part nextPart(const ChainCursor& unsent);
    /// How many bytes of the part to send now, when `left` bytes of the message are unsent. 0:
    /// wait.
    size_t chunkBytes(size_t part, size_t left) const;
    size_t stagedChunkBytes(size_t part, size_t left);
    size_t stageRoom(size_t wanted);
    Status sendStaged(ChainCursor& unsent, size_t bytes);
    Status sendInPlace(ChainCursor& unsent, size_t bytes, uint32_t key);
    void hold(const std::shared_ptr<const void>& holder);
    Status post(ImmediateKind kind, verbs::Piece piece, bool isInline, bool isSignalled);
    Status postNext(verbs::Write write);
    uint32_t writesInProgress() const { return static_cast<uint32_t>(posted_ - completed_); }
    bool isAllDone() const { return posted_ == completed_; }
    size_t stageFree() const { return stage_->bytes() - (stageHead_ - stageTail_); }

    LinkCounters& counters_;
    verbs::Device& device_;
    verbs::CompletionQueue& queue_;
    SlabRegions* const slabs_;
    const uint64_t tagBits_;
    const LinkSizes sizes_;
    std::shared_ptr<RingMemory> stage_;
    RingReader reader_;
    std::shared_ptr<RingMemory> ring_;
    /// Memory that writes in progress are sent from. Outlives the queue pair.
    struct Held {
        uint64_t until;  // released when so many writes are done
        std::shared_ptr<const void> holder;
    };
    std::deque<Held> held_;
    std::unique_ptr<verbs::QueuePair> pair_;  // outlives the memory registered with it
    std::unique_ptr<verbs::Region> ringRegion_;
    std::unique_ptr<verbs::Region> stageRegion_;
    EndInfo here_;
    EndInfo peer_;
    SendCredits credits_{1, 0, Layout::kRing};
    Status failure_;
    bool peerDone_ = false;
    bool saidGoodbye_ = false;

    uint64_t posted_ = 0;     // writes in all
    uint64_t completed_ = 0;  // known to be done, in order
    uint32_t sinceSignal_ = 0;
    size_t stagedSinceSignal_ = 0;
    uint64_t stageHead_ = 0;                     // bytes staged in all
    uint64_t stageTail_ = 0;                     // of these, free again
    std::array<uint64_t, kWrites> stageEnds_{};  // stageHead_ after each write in progress
};

}  // namespace freshet::transport::rdma
