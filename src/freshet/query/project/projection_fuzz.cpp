// SPDX-License-Identifier: Apache-2.0
/// libFuzzer target: documents of the language's words as projections of all styles, applied to
/// another document. The result must not nest deeper than a document may.
#include "freshet/bson/words_for_fuzz.h"
#include "freshet/query/language.h"
#include "freshet/query/project/tree.h"

namespace freshet::query {
namespace {

using bson::Document;

std::vector<std::string> words() {
    std::vector<std::string> result = bson::wordsOfAll();
    for (const Words& some : {projectionWords(), expressionWords(), filterWords()}) {
        for (const Word& word : some) {
            result.emplace_back(word.name);
            result.insert(result.end(), word.arguments.begin(), word.arguments.end());
        }
    }
    return result;
}

void project(const StatusOr<ProjectTree>& tree, Document document) {
    if (!tree.isOk()) {
        return;
    }
    ExprContext context;
    bson::Builder builder;
    projectDocument(*tree, document, nullptr, &context, &builder);
    const std::string bytes = builder.finish();
    invariant(context.failed() || bson::nestsWithin(Document(bytes), kComputedNestingMax));
}

}  // namespace

void fuzzProjection(ByteView bytes) {
    static const std::vector<std::string> known = words();
    bson::WordedDocument source(bytes, known);
    const bson::OwnedDocument spec = source.next();
    const bson::OwnedDocument document = source.next();
    for (const ProjectStyle style :
         {ProjectStyle::kFind, ProjectStyle::kStage, ProjectStyle::kAddFields}) {
        project(parseProjection(spec.view(), style), document.view());
    }
    std::vector<std::string> paths;
    for (const bson::Element& field : spec.view()) {
        paths.emplace_back(field.name());
    }
    project(makeExclusion(paths), document.view());
}

}  // namespace freshet::query

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    freshet::query::fuzzProjection({reinterpret_cast<const char*>(data), size});
    return 0;
}
