// SPDX-License-Identifier: Apache-2.0
/// libFuzzer target: any bytes through both parsers; what they accept is walked through.
#include "freshet/wire/message.h"

namespace {

void walk(const freshet::StatusOr<freshet::wire::Request>& parsed) {
    if (!parsed.isOk()) {
        return;
    }
    for (const freshet::bson::Element& element : parsed->body) {
        invariant(element.whole().size() <= parsed->body.size());
    }
    for (const freshet::wire::Sequence& sequence : parsed->sequences) {
        for (const freshet::bson::Document& document : sequence.documents) {
            invariant(document.fieldCount() >= 0);
        }
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    freshet::ByteView bytes(reinterpret_cast<const char*>(data), size);
    walk(freshet::wire::parseRequest(bytes));
    walk(freshet::wire::parseReply(bytes));
    return 0;
}
