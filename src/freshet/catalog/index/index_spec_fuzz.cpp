// SPDX-License-Identifier: Apache-2.0
/// libFuzzer target: arbitrary documents as index specifications, against existing indexes. What is
/// accepted once must be accepted again, and then exists already.
#include "freshet/catalog/index/index_spec.h"

#include "freshet/bson/words_for_fuzz.h"

namespace freshet::catalog {

void fuzzSpecs(ByteView bytes) {
    static const std::vector<std::string> known = [] {
        std::vector<std::string> words = bson::wordsOfAll();
        for (const char* word : {"key",
                                 "name",
                                 "unique",
                                 "sparse",
                                 "hidden",
                                 "v",
                                 "background",
                                 "expireAfterSeconds",
                                 "partialFilterExpression",
                                 "collation",
                                 "locale",
                                 "simple",
                                 "text",
                                 "2dsphere",
                                 "hashed",
                                 "$**",
                                 "a.$**",
                                 "$exists"}) {
            words.emplace_back(word);
        }
        return words;
    }();
    bson::WordedDocument source(bytes, known);
    std::vector<IndexRequest> requests;
    while (!source.isAtEnd() && requests.size() < 8) {
        IndexRequest request;
        request.spec = source.next();
        const bson::Element key = request.spec.view().find("key");
        request.key = key.isObject() ? bson::OwnedDocument(key.document()) : source.next();
        request.unique = request.spec.view().find("unique").isTruthy();
        request.sparse = request.spec.view().find("sparse").isTruthy();
        requests.push_back(std::move(request));
    }
    const auto made = resolveIndexRequests("db.c", {}, requests);
    if (made.isOk()) {
        const auto again = resolveIndexRequests("db.c", *made, requests);
        invariant(!again.isOk() || again->empty());
    }
}

}  // namespace freshet::catalog

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    freshet::catalog::fuzzSpecs({reinterpret_cast<const char*>(data), size});
    return 0;
}
