// SPDX-License-Identifier: Apache-2.0
/// libFuzzer target: what a peer can send. Once as a message of the bootstrap, and once as writes
/// with any immediate data, any length and anywhere in the ring, to a link that is read and
/// answers.
#include "freshet/testing/net/sim_verbs.h"
#include "freshet/transport/rdma/bootstrap.h"

#include <algorithm>
#include <array>
#include <vector>

namespace freshet::transport::rdma {
namespace {

void feedBootstrap(ByteView bytes) {
    std::string message = encodeProposal({}, 1, 0);
    // Bytes of the input replace those of a valid message, from an offset that the input chooses.
    const size_t at = bytes.empty() ? 0 : static_cast<uint8_t>(bytes[0]) % message.size();
    for (size_t i = 1; i < bytes.size() && at + i <= message.size(); ++i) {
        message[at + i - 1] = bytes[i];
    }
    for (ByteView candidate : {ByteView(message), bytes}) {
        if (const auto proposal = decodeProposal(candidate)) {
            (void)isUsable(proposal->end);
            invariant(decodeProposal(encodeProposal(*proposal, 1, 0)).has_value());
        }
        if (const auto said = decodeCallData(candidate)) {
            invariant(candidate.starts_with(encodeCallData(*said)));
        }
    }
}

/// What a reactor and its session do after each write.
void serve(verbs::CompletionQueue& queue, Link& link) {
    std::array<verbs::Completion, 16> some;
    for (size_t count = 1; count > 0;) {
        count = std::move(queue.poll(some)).value();
        for (size_t i = 0; i < count; ++i) {
            link.onCompletion(some[i]);
        }
    }
    Message message;
    for (StatusOr<bool> found = link.next(&message); found.isOk() && *found;
         found = link.next(&message)) {
        ReplyChain chain{std::string(message.view())};
        message = Message();
        ChainCursor unsent(chain);
        if (!link.send(unsent).isOk()) {
            return;
        }
    }
    link.tellCredit();
}

void feedWrites(const uint8_t* data, size_t size) {
    constexpr size_t kHeadBytes = 8;  // of each write: immediate, place, length
    constexpr size_t kBytesMax = 4'096;
    testing::SimVerbs sim;
    auto device = std::move(sim.open("127.0.0.1")).value();
    auto queue = std::move(device->makeCompletionQueue(1'000)).value();
    auto evilQueue = std::move(device->makeCompletionQueue(100'000)).value();
    BlockPool blocks;
    LinkCounters counters;
    const Layout layout = (data[0] & 2) != 0 ? Layout::kOneSlot : Layout::kRing;
    const LinkSizes sizes{Link::kRingBytesMin, Link::kRingBytesMin, layout};
    auto link = std::move(Link::create({*device, *queue, blocks, counters}, 1, sizes)).value();
    auto evil = std::move(device->makeQueuePair(*evilQueue, {}, nullptr)).value();
    std::vector<char> ring(Link::kRingBytesMin);
    auto evilRing = std::move(evil->registerMemory(ring.data(), ring.size(), true)).value();
    EndInfo end{evil->address(),
                reinterpret_cast<uint64_t>(ring.data()),
                evilRing->remoteKey(),
                Link::kRingBytesMin,
                32,
                {},
                layout};
    invariant(link->connect(end).isOk() && evil->connect(link->here().address).isOk());
    link->reader().setInPlace((data[0] & 1) != 0);
    std::string bytes(kBytesMax, '\0');
    auto region = std::move(evil->registerMemory(bytes.data(), bytes.size(), false)).value();
    for (size_t at = 1; at + kHeadBytes <= size && link->failure().isOk(); at += kHeadBytes) {
        const auto* head = reinterpret_cast<const char*>(data + at);
        const size_t length = loadLe<uint16_t>(head + 6) % kBytesMax;
        const size_t given = std::min(length, size - at - kHeadBytes);
        std::copy_n(data + at + kHeadBytes, given, bytes.begin());
        verbs::Write write;
        write.piece = {bytes.data(), static_cast<uint32_t>(length), region->localKey()};
        write.remoteAddress = link->here().ringAddress + loadLe<uint16_t>(head + 4);
        write.remoteKey = link->here().ringKey;
        write.immediate = loadLe<uint32_t>(head);
        write.isSignalled = true;
        (void)evil->postReceive(1);
        if (!evil->postWrite(write).isOk()) {
            return;
        }
        serve(*queue, *link);
        at += given;
    }
}

}  // namespace
}  // namespace freshet::transport::rdma

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    if (size > 0) {
        using namespace freshet::transport::rdma;
        feedBootstrap({reinterpret_cast<const char*>(data), size});
        feedWrites(data, size);
    }
    return 0;
}
