// SPDX-License-Identifier: Apache-2.0
/// libFuzzer target: any bytes as a document (parse, print, key form and back) and as a key.
///
///   clang++-16 -std=c++20 -fsanitize=fuzzer,address -Isrc ... bson_fuzz.cpp and the room's sources
#include "freshet/bson/compare.h"
#include "freshet/bson/json.h"
#include "freshet/bson/keyform.h"

namespace freshet::bson {

namespace {

void fuzzDocument(ByteView bytes) {
    StatusOr<Document> parsed = Document::parse(bytes);
    if (!parsed.isOk()) {
        return;
    }
    std::ignore = toJson(*parsed);
    std::ignore = toCanonicalJson(*parsed);
    std::ignore = toShellText(*parsed);
    invariant(compareDocuments(*parsed, *parsed) == 0);
    std::string key;
    std::string typeBits;
    std::vector<bool> descending;
    for (const Element& element : *parsed) {
        descending.push_back(descending.size() % 2 == 1);
        appendKeyForm(element, descending.back(), &key, &typeBits);
    }
    StatusOr<OwnedDocument> restored = restoreKeyForm(key, typeBits, descending);
    invariant(restored.isOk());
    invariant(keyFormPrefixBytes(key, descending.size(), descending).value() == key.size());
    auto original = parsed->begin();
    for (const Element& element : restored->view()) {
        invariant(compareValues(element, *original) == 0);
        ++original;
    }
}

void fuzzKey(ByteView bytes) {
    const std::vector<bool> descending{false, true};
    size_t half = bytes.size() / 2;
    StatusOr<OwnedDocument> restored =
        restoreKeyForm(bytes.substr(0, half), bytes.substr(half), descending);
    if (restored.isOk()) {
        std::ignore = toShellText(restored->view());
    }
    std::ignore = keyFormPrefixBytes(bytes, 2, descending);
}

}  // namespace

}  // namespace freshet::bson

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    freshet::ByteView bytes(reinterpret_cast<const char*>(data), size);
    freshet::bson::fuzzDocument(bytes);
    freshet::bson::fuzzKey(bytes);
    return 0;
}
