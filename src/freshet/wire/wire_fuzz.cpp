// SPDX-License-Identifier: Apache-2.0
/// libFuzzer target: any bytes through both parsers and the unpacker; accepted messages are read in
/// full, and unpacked ones are parsed again.
#include "freshet/wire/compress.h"
#include "freshet/wire/message.h"

namespace {

/// Small, so that decompression bombs do not slow the search down; the limit itself has its own
/// test.
constexpr size_t kUnpackedBytesMax = 1 << 20;

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
    auto unpacked = freshet::wire::unpackMessage(bytes, kUnpackedBytesMax);
    if (unpacked.isOk()) {
        invariant(unpacked->message.size() <= kUnpackedBytesMax);
        walk(freshet::wire::parseRequest(unpacked->message));
    }
    return 0;
}
