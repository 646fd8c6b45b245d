// SPDX-License-Identifier: Apache-2.0
/// libFuzzer target: documents of $jsonSchema's keywords as schemas, applied to another document.
/// If the document is refused, the reason is explained.
#include "freshet/query/match/json_schema.h"

#include "freshet/bson/words_for_fuzz.h"
#include "freshet/query/language.h"

namespace freshet::query {

void fuzzSchema(ByteView bytes) {
    static const std::vector<std::string> known = [] {
        std::vector<std::string> words = bson::wordsOfAll();
        for (const Word& word : schemaWords()) {
            words.emplace_back(word.name);
        }
        for (int type = 1; type < 0x14; ++type) {
            words.emplace_back(bson::typeName(static_cast<bson::Type>(type)));
        }
        return words;
    }();
    bson::WordedDocument source(bytes, known);
    const bson::OwnedDocument schema = source.next();
    const bson::OwnedDocument document = source.next();
    const auto compiled = JsonSchema::compile(schema.view());
    if (compiled.isOk() && !(*compiled)->accepts(document.view())) {
        bson::Builder builder;
        {
            bson::Builder why = builder.array("details");
            (*compiled)->explain(document.view(), &why);
        }
        const bson::OwnedDocument shown(builder.finish());
        static_cast<void>(shown.view().fieldCount());
    }
}

}  // namespace freshet::query

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    freshet::query::fuzzSchema({reinterpret_cast<const char*>(data), size});
    return 0;
}
