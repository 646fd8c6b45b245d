// SPDX-License-Identifier: Apache-2.0
#include "freshet/transport/rdma/bootstrap.h"

#include "freshet/wire/frame.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

namespace freshet::transport::rdma {
namespace {

constexpr uint32_t kMagic = 0x4d445246;  // "FRDM"
constexpr size_t kBodyBytes = 80;
constexpr size_t kCallBytes = 36;
constexpr char kUserDefined = static_cast<char>(0x80);  // BSON's binary subtype

/// Passes every field of a call's data to `visit`, in the order on the wire.
template <typename P, typename Visit>
void forEachCallField(P& proposal, Visit visit) {
    visit(proposal.version);
    visit(proposal.step);
    visit(proposal.verdict);
    visit(proposal.end.ringAddress);
    visit(proposal.end.ringKey);
    visit(proposal.end.ringBytes);
    visit(proposal.end.receives);
    visit(proposal.end.layout);
}

/// The same for the body of the TCP messages.
template <typename P, typename Visit>
void forEachField(P& proposal, Visit visit) {
    visit(proposal.version);
    visit(proposal.step);
    visit(proposal.verdict);
    auto& end = proposal.end;
    visit(end.address.queuePair);
    visit(end.address.packetSequence);
    visit(end.address.lid);
    visit(end.address.mtuBytes);
    visit(end.address.gid);
    visit(end.ringAddress);
    visit(end.ringKey);
    visit(end.ringBytes);
    visit(end.receives);
    visit(end.nonce);
    visit(end.layout);
}

/// For the visits above: reads each field from `at`.
auto takeFrom(const char* at) {
    return [at](auto& field) mutable {
        field = loadLe<std::remove_reference_t<decltype(field)>>(at);
        at += sizeof(field);
    };
}

/// The part of the message's document before the body: a binary field with the command's name.
std::string beginning(size_t documentBytes) {
    std::string out;
    appendLe(out, static_cast<int32_t>(documentBytes));
    out += '\x05';
    out.append("freshetRdma", sizeof("freshetRdma"));
    appendLe(out, static_cast<int32_t>(kBodyBytes));
    out += kUserDefined;
    return out;
}

/// The part after it: how a command, or a reply, ends.
std::string ending(bool isReply) {
    std::string out;
    if (isReply) {
        out += '\x01';
        out.append("ok", sizeof("ok"));
        appendLe(out, 1.0);
    } else {
        out += '\x02';
        out.append("$db", sizeof("$db"));
        appendLe(out, static_cast<int32_t>(sizeof("admin")));
        out.append("admin", sizeof("admin"));
    }
    out += '\0';
    return out;
}

/// The message's flags and the kind of its only section, then the document up to the body.
std::string bodyPrefix(bool isReply) {
    const std::string end = ending(isReply);
    const size_t documentBytes = beginning(0).size() + kBodyBytes + end.size();
    std::string out(sizeof(uint32_t) + 1, '\0');
    return out + beginning(documentBytes);
}

bool isReplyStep(Step step) {
    return step == Step::kAnswer || step == Step::kSettled;
}

}  // namespace

const char* name(Verdict verdict) {
    switch (verdict) {
        case Verdict::kYes:
            return "yes";
        case Verdict::kVersion:
            return "the versions differ";
        case Verdict::kNoDevice:
            return "the connection's address belongs to no RDMA device";
        case Verdict::kTooMany:
            return "there are too many RDMA sessions";
        case Verdict::kTls:
            return "the connection is encrypted, which RDMA would not be";
        case Verdict::kFailed:
            return "the RDMA device refused";
        case Verdict::kNoProbe:
            return "nothing came through the RDMA network";
        case Verdict::kUnknown:
            return "the server knows no RDMA";
        case Verdict::kLayout:
            return "the server does not grant the layout of one slot";
    }
    return "unknown";
}

std::string encodeProposal(const Proposal& proposal, int32_t requestId, int32_t responseTo) {
    const bool isReply = isReplyStep(proposal.step);
    std::string out(wire::kHeaderBytes, '\0');
    out += bodyPrefix(isReply);
    [[maybe_unused]] const size_t before = out.size();
    appendLe(out, kMagic);
    forEachField(proposal, [&out](const auto& field) { appendLe(out, field); });
    out.resize(before + kBodyBytes, '\0');
    out += ending(isReply);
    wire::storeHeader(out.data(),
                      {static_cast<int32_t>(out.size()),
                       requestId,
                       responseTo,
                       static_cast<int32_t>(wire::OpCode::kMsg)});
    return out;
}

std::optional<Proposal> decodeProposal(ByteView message) {
    for (const bool isReply : {false, true}) {
        const std::string prefix = bodyPrefix(isReply);
        const std::string end = ending(isReply);
        if (message.size() != wire::kHeaderBytes + prefix.size() + kBodyBytes + end.size() ||
            loadLe<int32_t>(message.data() + 12) != static_cast<int32_t>(wire::OpCode::kMsg) ||
            message.substr(wire::kHeaderBytes, prefix.size()) != prefix ||
            !message.ends_with(end)) {
            continue;
        }
        const char* at = message.data() + wire::kHeaderBytes + prefix.size();
        if (loadLe<uint32_t>(at) != kMagic) {
            return std::nullopt;
        }
        Proposal out;
        forEachField(out, takeFrom(at + sizeof(kMagic)));
        return isReplyStep(out.step) == isReply ? std::optional<Proposal>(out) : std::nullopt;
    }
    return std::nullopt;
}

std::string encodeCallData(const Proposal& proposal) {
    std::string out;
    appendLe(out, kMagic);
    forEachCallField(proposal, [&out](const auto& field) { appendLe(out, field); });
    dcheck(out.size() == kCallBytes);
    return out;
}

std::optional<Proposal> decodeCallData(ByteView data) {
    if (data.size() < kCallBytes || loadLe<uint32_t>(data.data()) != kMagic) {
        return std::nullopt;
    }
    Proposal out;
    forEachCallField(out, takeFrom(data.data() + sizeof(kMagic)));
    return out;
}

bool isUsable(const EndInfo& end) {
    constexpr uint32_t kPageBytes = 4096;
    return end.ringBytes >= Link::kRingBytesMin && end.ringBytes <= Link::kRingBytesMax &&
           end.ringBytes % kPageBytes == 0 && end.receives > SendCredits::kReserved &&
           end.receives <= Immediate::kReceivesMax && end.layout <= Layout::kOneSlot;
}

std::string hostOf(const std::string& endpoint) {
    std::string host = endpoint.substr(0, endpoint.rfind(':'));
    return host.starts_with('[') && host.ends_with(']') ? host.substr(1, host.size() - 2) : host;
}

}  // namespace freshet::transport::rdma
