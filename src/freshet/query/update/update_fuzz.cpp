// SPDX-License-Identifier: Apache-2.0
/// libFuzzer target: documents of the language's words as updates, as operators and as pipelines,
/// applied to another document and as upserts. The results must be storable.
#include "freshet/query/update.h"

#include "freshet/bson/words_for_fuzz.h"
#include "freshet/query/language.h"

namespace freshet::query {
namespace {

using bson::Document;
using bson::OwnedDocument;

std::vector<std::string> updateFuzzWords() {
    std::vector<std::string> result = bson::wordsOfAll();
    for (const Words& some :
         {updateWords(), stageWords(), expressionWords(), filterWords(), documentFilterWords()}) {
        for (const Word& word : some) {
            result.emplace_back(word.name);
            result.insert(result.end(), word.arguments.begin(), word.arguments.end());
        }
    }
    for (const char* clause : {"$each", "$slice", "$sort", "$position", "newRoot"}) {
        result.emplace_back(clause);
    }
    return result;
}

void checkStored(const StatusOr<OwnedDocument>& made) {
    invariant(!made.isOk() || Document::parse(made->bytes()).isOk());
}

void run(const StatusOr<std::unique_ptr<UpdateProgram>>& program, Document document) {
    if (!program.isOk()) {
        return;
    }
    bool changed = false;
    checkStored((*program)->apply(document, nullptr, &changed));
    if (const auto filter = Matcher::compile(document); filter.isOk()) {
        checkStored((*program)->apply(document, filter->get(), &changed));
        checkStored((*program)->makeUpsert(**filter));
    }
}

}  // namespace

void fuzzUpdates(ByteView bytes) {
    static const std::vector<std::string> known = updateFuzzWords();
    bson::WordedDocument source(bytes, known);
    const OwnedDocument update = source.next();
    const OwnedDocument document = source.next();
    const OwnedDocument filters = source.next();
    run(UpdateProgram::compile(update, Document()), document.view());
    run(UpdateProgram::compile(update, filters.view()), document.view());
    // Members of an array may have any names.
    run(UpdateProgram::compilePipeline(update.view(), Document()), document.view());
    bson::Builder stages;
    for (const bson::Element& field : update.view()) {
        bson::Builder stage = stages.object(stages.nextIndex());
        stage.add(field);
    }
    const OwnedDocument array(stages.finish());
    run(UpdateProgram::compilePipeline(array.view(), Document()), document.view());
}

}  // namespace freshet::query

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    freshet::query::fuzzUpdates({reinterpret_cast<const char*>(data), size});
    return 0;
}
