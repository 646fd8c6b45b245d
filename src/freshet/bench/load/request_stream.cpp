// SPDX-License-Identifier: Apache-2.0
#include "freshet/bench/load/request_stream.h"

namespace freshet::bench {

RequestStream::RequestStream(const RequestTemplate& request, Share share)
    : share_(share), random_((share.index + 1) * 0x9e3779b97f4a7c15u) {
    kinds_[0] = {&request, request.bytes};
    if (request.other != nullptr) {
        kinds_[1] = {request.other.get(), request.other->bytes};
    }
    if (request.sessionAt != 0) {
        storeLe(kinds_[0].bytes.data() + request.sessionAt, share_.index);
    }
}

uint64_t RequestStream::random() {
    random_ ^= random_ << 13;
    random_ ^= random_ >> 7;
    random_ ^= random_ << 17;
    return random_;
}

ByteView RequestStream::next() {
    const RequestTemplate& first = *kinds_[0].request;
    last_ = first.other != nullptr && random() % 100 < first.otherPercent ? 1 : 0;
    Kind& kind = kinds_[last_];
    const RequestTemplate& request = *kind.request;
    if (request.ids == Ids::kUnique) {
        const uint64_t id = request.idBase + share_.index + requests_ * share_.of;
        storeLe(kind.bytes.data() + request.idAt, id);
        if (request.numberAt != 0) {
            storeLe(kind.bytes.data() + request.numberAt, id);
        }
    } else if (request.ids == Ids::kRandom) {
        storeLe(kind.bytes.data() + request.idAt, random() % request.idRange);
    }
    ++requests_;
    return kind.bytes;
}

Status RequestStream::judge(ByteView reply) {
    Kind& kind = kinds_[last_];
    if (reply.size() != kind.goodReplyBytes) {
        FRESHET_RETURN_IF_ERROR(kind.request->checkReply(reply));
        kind.goodReplyBytes = reply.size();
    }
    return Status::ok();
}

}  // namespace freshet::bench
