// SPDX-License-Identifier: Apache-2.0
/// Any BSON as a pipeline and as an expression: parsing and running it must end with an error or
/// with documents.
#include "freshet/query/aggregate/stages.h"

#include <cstddef>
#include <cstdint>

using freshet::ByteView;
using freshet::Status;
namespace bson = freshet::bson;
namespace query = freshet::query;

namespace {

constexpr int kDocumentsMax = 1000;

void runPipeline(bson::Document stages, bson::Document document) {
    query::PipelineRun run("db", nullptr, bson::Document());
    size_t stagesMade = 0;
    const query::PipelineMaker maker{run, 0, &stagesMade, bson::Document()};
    std::vector<bson::OwnedDocument> input;
    input.emplace_back(document);
    auto last = maker.makeBehind(stages, query::makeListStage(std::move(input)));
    for (int i = 0; last.isOk() && i < kDocumentsMax; ++i) {
        query::Output out;
        Status status = (*last)->next(&out);
        if (status.isWouldBlock()) {
            run.startTurn();
        } else if (!status.isOk() || out.isEnd) {
            return;
        }
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    auto parsed = bson::Document::parse(ByteView(reinterpret_cast<const char*>(data), size));
    if (!parsed.isOk()) {
        return 0;
    }
    for (const bson::Element& element : *parsed) {
        auto expression = query::parseExpression(element);
        if (expression.isOk()) {
            auto value = query::evaluateOnce(**expression, *parsed);
            static_cast<void>(value.isOk());
        }
        if (element.isArray()) {
            runPipeline(element.document(), *parsed);
        }
    }
    return 0;
}
