// SPDX-License-Identifier: Apache-2.0
/// $unionWith: after its input's documents, those of another collection through a pipeline.
#include "freshet/bson/json.h"
#include "freshet/query/aggregate/inner_pipeline.h"

namespace freshet::query {
namespace {

using bson::Document;
using bson::Element;

class UnionStage final : public ChainedStage {
public:
    UnionStage(PipelineRun& run, StagePtr input, InnerPipeline inner)
        : ChainedStage(run, std::move(input)), inner_(std::move(inner)) {}

    Status next(Output* out) override {
        if (second_ == nullptr) {
            FRESHET_RETURN_IF_ERROR(input().next(out));
            if (!out->isEnd) {
                return Status::ok();
            }
            const bson::OwnedDocument variables = inner_.bind({}, {});
            FRESHET_ASSIGN_OR_RETURN(second_,
                                     inner_.start(bson::OwnedDocument(), variables.view()));
        }
        return second_->next(out);
    }

private:
    InnerPipeline inner_;
    StagePtr second_;  // null until the input has ended
};

}  // namespace

StageOr makeUnionWith(const PipelineMaker& maker, const Element& spec, StagePtr input) {
    Element from = spec;
    Document stages;
    if (spec.isObject()) {
        from = Element();
        for (const Element& option : spec.document()) {
            if (option.name() == "coll") {
                from = option;
            } else if (option.name() == "pipeline" && option.isArray()) {
                stages = option.document();
            } else {
                return option.name() == "pipeline"
                           ? invalid(Reason::kTypeMismatch,
                                     "'pipeline' option must be specified as an array")
                           : invalid(location(40415),
                                     "BSON field '$unionWith." + std::string(option.name()) +
                                         "' is an unknown field.");
            }
        }
    } else if (!spec.isString()) {
        return invalid(
            Reason::kFailedToParse,
            "the $unionWith stage specification must be an object or string, but found " +
                std::string(bson::typeName(spec.type())));
    }
    const bool startsWithDocuments = !stages.isEmpty() && stages.begin()->isObject() &&
                                     stages.begin()->document().has("$documents");
    catalog::CollectionRef collection;
    if (!from.isMissing()) {
        FRESHET_ASSIGN_OR_RETURN(collection, collectionOf(maker, from));
    } else if (!startsWithDocuments) {
        return invalid(Reason::kFailedToParse,
                       "$unionWith stage without explicit collection must have a pipeline with "
                       "$documents as first stage");
    }
    FRESHET_ASSIGN_OR_RETURN(InnerPipeline inner,
                             InnerPipeline::make(maker, collection, stages, {}));
    return StagePtr(std::make_unique<UnionStage>(maker.run, std::move(input), std::move(inner)));
}

}  // namespace freshet::query
