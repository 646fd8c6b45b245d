// SPDX-License-Identifier: Apache-2.0
/// $redact: keeps or removes each sub-document, as an expression evaluated on it decides.
#include "freshet/bson/json.h"
#include "freshet/query/aggregate/stages.h"

namespace freshet::query {
namespace {

using bson::Builder;
using bson::Document;
using bson::Element;

constexpr std::string_view kDescend = "descend";
constexpr std::string_view kPrune = "prune";
constexpr std::string_view kKeep = "keep";

class RedactStage final : public ChainedStage {
public:
    RedactStage(PipelineRun& run, StagePtr input, ExprPtr expression, size_t slot)
        : ChainedStage(run, std::move(input)), expression_(std::move(expression)), slot_(slot) {}

    Status next(Output* out) override {
        for (;;) {
            FRESHET_RETURN_IF_ERROR(input().next(out));
            if (out->isEnd) {
                return Status::ok();
            }
            context_.root = out->document;
            Builder builder;
            const bool isKept = redact(out->document, &builder);
            bytes_ = builder.finish();
            if (context_.failed()) {
                return context_.error;
            }
            if (isKept) {
                return out->give(Document(bytes_));
            }
            FRESHET_RETURN_IF_ERROR(checkTurn());
        }
    }

private:
    /// Writes what is kept of `document`; false if nothing is. Recursion is as deep as BSON may
    /// nest.
    bool redact(Document document, Builder* out) {
        if (!context_.mayGoOnWith(out->endsAt())) {
            return false;
        }
        context_.setVariable(slot_, Value::ofDocument(document.bytes()));
        const Value verdict = expression_->evaluate(context_);
        const std::string_view word =
            verdict.element().isString() ? verdict.element().stringValue() : "";
        if (word == kKeep) {
            out->addFields(document);
            return true;
        }
        if (word == kDescend) {
            for (const Element& field : document) {
                addRedacted(field, field.name(), out);
            }
            return true;
        }
        if (word != kPrune) {
            context_.fail(location(17053),
                          "$redact's expression should not return anything aside from the "
                          "variables $$KEEP, $$DESCEND, and $$PRUNE, but returned " +
                              (verdict.isMissing() ? std::string("MISSING")
                                                   : bson::toShellText(verdict.element())));
        }
        return false;
    }

    void addRedacted(const Element& field, std::string_view name, Builder* out) {
        if (field.isObject()) {
            Builder inner;
            if (redact(field.document(), &inner)) {
                const std::string bytes = inner.finish();
                out->add(name, Document(bytes));
            }
        } else if (field.isArray()) {
            Builder array = out->array(name);
            for (const Element& member : field.document()) {
                addMember(member, &array);
            }
        } else {
            out->addAs(name, field);
        }
    }

    void addMember(const Element& member, Builder* array) {
        if (!member.isObject()) {
            addRedacted(member, array->nextIndex(), array);
            return;
        }
        Builder inner;
        if (redact(member.document(), &inner)) {
            const std::string bytes = inner.finish();
            array->push(Document(bytes));
        }
    }

    ExprPtr expression_;
    size_t slot_;  // of CURRENT
    std::string bytes_;
};

}  // namespace

StageOr makeRedact(const PipelineMaker& maker, const Element& spec, StagePtr input) {
    Builder builder;
    builder.addFields(maker.variables);
    builder.add("DESCEND", kDescend).add("PRUNE", kPrune).add("KEEP", kKeep);
    const std::string variables = builder.finish();
    ExprScope scope{Document(variables)};
    const size_t slot = scope.push("CURRENT", 0);
    FRESHET_ASSIGN_OR_RETURN(ExprPtr expression, parseExpression(spec, &scope));
    return StagePtr(
        std::make_unique<RedactStage>(maker.run, std::move(input), std::move(expression), slot));
}

}  // namespace freshet::query
