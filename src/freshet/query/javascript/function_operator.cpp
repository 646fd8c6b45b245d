// SPDX-License-Identifier: Apache-2.0
/// $function, and the map function of mapReduce as an expression.
#include "freshet/query/expression/operators.h"
#include "freshet/query/javascript/scripts.h"

namespace freshet::query {
namespace {

using bson::Element;

class Function final : public Expression {
public:
    Function(std::string source, ExprPtr arguments)
        : source_(std::move(source)), arguments_(std::move(arguments)) {}
    Value evaluate(ExprContext& context) const override {
        const Value arguments = arguments_->evaluate(context);
        if (!arguments.element().isArray()) {
            return context.fail(location(31266), "The args field must be of type array");
        }
        const Value result = callScript(context, source_, arguments.element().document());
        return context.allows(result.valueBytes()) ? result : Value();
    }

private:
    const std::string source_;
    const ExprPtr arguments_;
};

StatusOr<ExprPtr> parseFunction(const Element& operand, ExprScope* scope) {
    FRESHET_RETURN_IF_ERROR(checkScriptsAllowed(ScriptUse::kFunction));
    if (!operand.isObject()) {
        return invalid(location(31260),
                       "$function requires an object as an argument, found: " +
                           std::string(bson::typeName(operand.type())));
    }
    const bson::Document fields = operand.document();
    const Element body = fields.find("body");
    if (body.isMissing()) {
        return invalid(location(31261), "The body function must be specified.");
    }
    FRESHET_ASSIGN_OR_RETURN(
        std::string source,
        parseScript(
            body,
            scope,
            invalid(location(31432), "The body function must be a constant expression"),
            invalid(location(31262), "The body function must evaluate to type string or code")));
    const Element args = fields.find("args");
    if (args.isMissing()) {
        return invalid(location(31263), "The args field must be specified.");
    }
    FRESHET_ASSIGN_OR_RETURN(ExprPtr arguments, parseExpression(args, scope));
    const Element language = fields.find("lang");
    if (language.isMissing()) {
        return invalid(location(31418), "The lang field must be specified.");
    }
    if (!language.isString() || language.stringValue() != "js") {
        return invalid(location(31419), "Currently the only supported language specifier is 'js'.");
    }
    return ExprPtr(std::make_shared<Function>(std::move(source), std::move(arguments)));
}

/// What a map function emits for a document: [{k: ..., v: ...}, ...].
class Emitted final : public Expression {
public:
    explicit Emitted(std::string source) : source_(std::move(source)) {}
    Value evaluate(ExprContext& context) const override {
        if (context.failed()) {
            return {};
        }
        bson::Builder holder;
        holder.add("", context.root);
        const bson::OwnedDocument self(holder.finish());
        StatusOr<Value> result = callMap(source_, *self.view().begin());
        if (!result.isOk()) {
            context.error = result.status();
            return {};
        }
        return *std::move(result);
    }

private:
    const std::string source_;
};

/// {$_internalJsEmit: <map function>}
StatusOr<ExprPtr> parseEmitted(const Element& operand, ExprScope* scope) {
    FRESHET_RETURN_IF_ERROR(checkScriptsAllowed(ScriptUse::kInternal));
    const Status wrong = invalid(location(31222), "The map function must be specified.");
    FRESHET_ASSIGN_OR_RETURN(std::string source, parseScript(operand, scope, wrong, wrong));
    scope->noteDocumentRead();
    return ExprPtr(std::make_shared<Emitted>(std::move(source)));
}

const ParsedSpec kParsed[] = {
    {"$function", parseFunction},
    {"$_internalJsEmit", parseEmitted},
};

}  // namespace

std::span<const ParsedSpec> scriptOperators() {
    return kParsed;
}

}  // namespace freshet::query
