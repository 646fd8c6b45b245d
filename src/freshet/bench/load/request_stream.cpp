// SPDX-License-Identifier: Apache-2.0
#include "freshet/bench/load/request_stream.h"

namespace freshet::bench {

RequestStream::RequestStream(const RequestTemplate& request, Share share)
    : request_(request),
      share_(share),
      bytes_(request.bytes),
      random_((share.index + 1) * 0x9e3779b97f4a7c15u) {}

ByteView RequestStream::next() {
    if (request_.ids == Ids::kUnique) {
        storeLe(bytes_.data() + request_.idAt,
                request_.idBase + share_.index + requests_ * share_.of);
    } else if (request_.ids == Ids::kRandom) {
        random_ ^= random_ << 13;
        random_ ^= random_ >> 7;
        random_ ^= random_ << 17;
        storeLe(bytes_.data() + request_.idAt, random_ % request_.idRange);
    }
    ++requests_;
    return bytes_;
}

Status RequestStream::judge(ByteView reply) {
    if (reply.size() != goodReplyBytes_) {
        FRESHET_RETURN_IF_ERROR(request_.checkReply(reply));
        goodReplyBytes_ = reply.size();
    }
    return Status::ok();
}

}  // namespace freshet::bench
