// SPDX-License-Identifier: Apache-2.0
/// Pipelines of one document, and the variables of commands.
#include "freshet/bson/json.h"
#include "freshet/platform/clock.h"
#include "freshet/query/aggregate/stages.h"
#include "freshet/query/aggregate/step.h"
#include "freshet/query/transform.h"

namespace freshet::query {

using bson::Document;
using bson::Element;
using bson::OwnedDocument;

struct DocumentPipeline::Impl {
    std::vector<std::unique_ptr<DocumentStep>> steps;
    OwnedDocument variables;
};

DocumentPipeline::DocumentPipeline(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
DocumentPipeline::~DocumentPipeline() = default;

StatusOr<std::unique_ptr<DocumentPipeline>> DocumentPipeline::parse(Document stages,
                                                                    Document variables) {
    auto impl = std::make_unique<Impl>();
    impl->variables = OwnedDocument(variables);
    for (const Element& stage : stages) {
        FRESHET_ASSIGN_OR_RETURN(const Element spec, specOf(stage));
        if (!isStage(spec.name())) {
            return unknownStage(spec.name());
        }
        if (!isStep(spec.name())) {
            return invalid(
                Reason::kInvalidOptions,
                std::string(spec.name()) + " is not allowed to be used within an update");
        }
        if (impl->steps.size() == kStagesMax) {
            return tooManyStages();
        }
        FRESHET_ASSIGN_OR_RETURN(auto step, parseStep(spec, impl->variables.view()));
        impl->steps.push_back(std::move(step));
    }
    return std::unique_ptr<DocumentPipeline>(new DocumentPipeline(std::move(impl)));
}

StatusOr<OwnedDocument> DocumentPipeline::apply(Document document) const {
    ExprContext context;
    context.nowMillis = platform::wallMillis();
    std::string bytes;
    std::string next;
    Document current = document;
    for (const auto& step : impl_->steps) {
        FRESHET_RETURN_IF_ERROR(step->apply(current, &context, &next));
        bytes.swap(next);
        current = Document(bytes);
    }
    return impl_->steps.empty() ? OwnedDocument(document) : OwnedDocument(std::move(bytes));
}

StatusOr<OwnedDocument> evaluateLet(Document let) {
    const OwnedDocument nothing;
    const bson::Date now{platform::wallMillis()};
    bson::Builder constants;
    constants.add("NOW", now);
    const OwnedDocument seen(constants.finish());
    bson::Builder builder;
    builder.add("NOW", now);
    for (const Element& variable : let) {
        FRESHET_RETURN_IF_ERROR(checkVariableName(variable.name()));
        ExprScope scope(seen.view());
        FRESHET_ASSIGN_OR_RETURN(ExprPtr expression, parseExpression(variable, &scope));
        if (scope.readsDocument()) {
            return invalid(location(4890500),
                           "Command let Expression tried to access a field, but this is not "
                           "allowed because Command let Expressions run before the query examines "
                           "any documents.");
        }
        FRESHET_ASSIGN_OR_RETURN(const Value value, evaluateOnce(*expression, nothing.view()));
        if (!bson::nestsWithin(value.element(), kComputedNestingMax)) {
            return nestsTooDeeply();
        }
        if (value.isMissing()) {
            builder.add(variable.name(), bson::Undefined{});
        } else {
            builder.addAs(variable.name(), value.element());
        }
    }
    return OwnedDocument(builder.finish());
}

}  // namespace freshet::query
