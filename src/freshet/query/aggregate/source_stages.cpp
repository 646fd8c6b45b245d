// SPDX-License-Identifier: Apache-2.0
/// Stages that produce documents without reading a collection.
#include "freshet/query/aggregate.h"
#include "freshet/query/aggregate/stages.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace freshet::query {
namespace {

using bson::Document;
using bson::Element;
using bson::OwnedDocument;

/// Stages that describe the server rather than its data.
constexpr std::string_view kCallersStages[] = {
    "$collStats", "$currentOp", "$indexStats", "$listLocalSessions"};

bool isCallersStage(std::string_view name) {
    return std::find(std::begin(kCallersStages), std::end(kCallersStages), name) !=
           std::end(kCallersStages);
}

constexpr uint32_t kSearchNotEnabled = 31082;
constexpr std::string_view kHowToEnable =
    " requires additional configuration. Please connect to Atlas or an AtlasCLI local deployment "
    "to enable. For more information on how to connect, see "
    "https://dochub.mongodb.org/core/atlas-cli-deploy-local-reqs.";

bool isSearch(std::string_view name) {
    return name == "$search" || name == "$searchMeta" || name == "$vectorSearch";
}

class EntriesStage final : public Stage {
public:
    EntriesStage(PipelineRun& run, std::unique_ptr<TailSource> source)
        : run_(run), source_(std::move(source)) {}
    uint64_t heldBytes() const override { return source_->heldBytes(); }

    Status next(Output* out) override {
        if (source_->isOver() || isDry_) {
            return out->end();
        }
        FRESHET_RETURN_IF_ERROR(run_.checkTurn());
        Document document;
        Status status = source_->next(&document);
        if (status.isWouldBlock()) {
            isDry_ = source_->isDry();
            run_.waitFor(isDry_ ? sync::WaitToken::completed() : source_->token());
        }
        FRESHET_RETURN_IF_ERROR(std::move(status));
        return out->give(document);
    }

private:
    PipelineRun& run_;
    const std::unique_ptr<TailSource> source_;
    bool isDry_ = false;
};

}  // namespace

StagePtr makeEntriesStage(PipelineRun& run, std::unique_ptr<TailSource> source) {
    return std::make_unique<EntriesStage>(run, std::move(source));
}

Status searchIndexesNotEnabled() {
    return invalid(location(kSearchNotEnabled),
                   "Using Atlas Search Database Commands and the $listSearchIndexes aggregation "
                   "stage" +
                       std::string(kHowToEnable));
}

Element callersStage(Document pipeline) {
    const Element first = pipeline.isEmpty() ? Element() : *pipeline.begin();
    if (!first.isObject() || first.document().fieldCount() != 1) {
        return {};
    }
    const Element spec = *first.document().begin();
    return isCallersStage(spec.name()) ? spec : Element();
}

StageOr makeSource(const PipelineMaker& maker, const Element& spec) {
    const std::string name(spec.name());
    if (name == "$documents") {
        FRESHET_ASSIGN_OR_RETURN(auto documents, evaluateDocuments(maker, spec));
        return makeListStage(std::move(documents));
    }
    if (isCallersStage(name)) {
        std::optional<std::vector<OwnedDocument>> documents = maker.run.takeSource();
        return documents.has_value()
                   ? StageOr(makeListStage(std::move(*documents)))
                   : StageOr(Status(Code::kUnsupported,
                                    name + " is not supported in an inner pipeline"));
    }
    if (name == "$listSessions" || name == "$planCacheStats") {
        return makeListStage({});
    }
    if (name == "$listSearchIndexes") {
        return searchIndexesNotEnabled();
    }
    if (isSearch(name)) {
        return invalid(
            location(kSearchNotEnabled),
            "Using $search and $vectorSearch aggregation stages" + std::string(kHowToEnable));
    }
    if (name == "$changeStream") {
        return makeChangeStream(maker);
    }
    return Status(Code::kUnsupported, name + " is not supported by this server");
}

}  // namespace freshet::query
