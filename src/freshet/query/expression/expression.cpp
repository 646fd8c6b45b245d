// SPDX-License-Identifier: Apache-2.0
/// Literals, field paths, variables, objects and arrays, and the parser of expressions.
#include "freshet/query/expression/expression.h"

#include "freshet/bson/json.h"
#include "freshet/bson/path.h"
#include "freshet/platform/clock.h"
#include "freshet/query/expression/operators.h"
#include "freshet/query/limits.h"

#include <utility>

namespace freshet::query {
namespace {

using bson::Document;
using bson::Element;
using bson::Type;

class Literal final : public Expression {
public:
    explicit Literal(Value value) : value_(value.own()) {}
    Value evaluate(ExprContext&) const override { return value_; }
    bool isConstant() const override { return true; }

private:
    Value value_;
};

/// The value at a path of the root document.
Value followRoot(RootDocument& root, const std::vector<std::string>& parts) {
    Element at = root.find(parts[0]);
    size_t from = 1;
    for (; from < parts.size() && at.isObject(); ++from) {
        at = root.find(at.document(), parts[from]);
    }
    return from == parts.size() ? Value(at) : followPath(Value(at), parts, from);
}

class FieldPath final : public Expression {
public:
    explicit FieldPath(std::string_view dotted) : parts_(splitPath(dotted)) {}
    Value evaluate(ExprContext& context) const override { return followRoot(context.root, parts_); }

private:
    std::vector<std::string> parts_;
};

enum class SystemVariable : uint8_t { kRoot, kRemove, kNow };

class SystemVariablePath final : public Expression {
public:
    SystemVariablePath(SystemVariable variable, std::vector<std::string> parts)
        : variable_(variable), parts_(std::move(parts)) {}
    Value evaluate(ExprContext& context) const override {
        switch (variable_) {
            case SystemVariable::kRemove:
                return {};
            case SystemVariable::kNow:
                return parts_.empty() ? Value::of(bson::Date{context.nowMillis}) : Value();
            case SystemVariable::kRoot:
                break;
        }
        if (parts_.empty()) {
            return Value::ofDocument(context.root.bytes());
        }
        return followRoot(context.root, parts_);
    }

private:
    SystemVariable variable_;
    std::vector<std::string> parts_;
};

/// A variable without a value. It is not constant, so that nothing is evaluated early in places
/// where it only stands for a later value.
class MissingVariable final : public Expression {
public:
    Value evaluate(ExprContext&) const override { return {}; }
};

class VariablePath final : public Expression {
public:
    VariablePath(size_t slot, std::vector<std::string> parts)
        : slot_(slot), parts_(std::move(parts)) {}
    Value evaluate(ExprContext& context) const override {
        const Value& value = context.variables[slot_];
        return parts_.empty() ? value : followPath(value, parts_, 0);
    }

private:
    size_t slot_;
    std::vector<std::string> parts_;
};

class ObjectExpression final : public Expression {
public:
    void add(std::string name, ExprPtr expression) {
        constant_ &= expression->isConstant();
        fields_.emplace_back(std::move(name), std::move(expression));
    }
    Value evaluate(ExprContext& context) const override {
        bson::Builder builder;
        for (const auto& [name, expression] : fields_) {
            if (!context.mayGoOnWith(0)) {
                return {};
            }
            const Value value = expression->evaluate(context);
            if (!value.isMissing() && context.allows(builder.size() + value.heldBytes())) {
                builder.addAs(name, value.element());
            }
        }
        return Value::ofDocument(builder.finish());
    }
    bool isConstant() const override { return constant_; }

private:
    std::vector<std::pair<std::string, ExprPtr>> fields_;
    bool constant_ = true;
};

class ArrayExpression final : public Expression {
public:
    void add(ExprPtr expression) {
        constant_ &= expression->isConstant();
        members_.push_back(std::move(expression));
    }
    Value evaluate(ExprContext& context) const override {
        bson::Builder builder;
        for (const ExprPtr& member : members_) {
            if (!context.mayGoOnWith(0)) {
                return {};
            }
            const Value value = member->evaluate(context);
            if (value.isMissing()) {
                builder.push(bson::Null{});
            } else if (context.allows(builder.size() + value.heldBytes())) {
                builder.pushElement(value.element());
            }
        }
        return Value::ofArray(builder.finish());
    }
    bool isConstant() const override { return constant_; }

private:
    std::vector<ExprPtr> members_;
    bool constant_ = true;
};

StatusOr<ExprPtr> parseVariable(std::string_view text, ExprScope* scope) {
    const size_t dot = text.find('.');
    const std::string name(text.substr(0, dot));
    std::vector<std::string> parts;
    if (dot != text.npos) {
        FRESHET_RETURN_IF_ERROR(checkFieldPath(text.substr(dot + 1)));
        parts = splitPath(text.substr(dot + 1));
    }
    const int slot = scope->find(name);
    if (slot >= 0) {
        return ExprPtr(std::make_shared<VariablePath>(slot, std::move(parts)));
    }
    if (const Value constant = scope->constant(name); !constant.isMissing()) {
        if (constant.type() == Type::kUndefined) {
            return ExprPtr(std::make_shared<MissingVariable>());
        }
        return makeLiteral(followPath(constant, parts, 0));
    }
    SystemVariable variable;
    if (name == "ROOT" || name == "CURRENT") {
        variable = SystemVariable::kRoot;
        scope->noteDocumentRead();
    } else if (name == "REMOVE") {
        variable = SystemVariable::kRemove;
    } else if (name == "NOW") {
        variable = SystemVariable::kNow;
    } else if (name == "CLUSTER_TIME") {
        return invalid(location(51144), "Builtin variable '$$CLUSTER_TIME' is not available");
    } else if (name == "USER_ROLES") {
        return invalid(location(51144), "Builtin variable '$$USER_ROLES' is not available");
    } else {
        return invalid(Reason::kUndefinedVariable, "Use of undefined variable: " + name);
    }
    return ExprPtr(std::make_shared<SystemVariablePath>(variable, std::move(parts)));
}

/// A path into what $$CURRENT stands for here.
ExprPtr makeCurrentPath(std::string_view dotted, ExprScope* scope) {
    const int slot = scope->find("CURRENT");
    if (slot >= 0) {
        return std::make_shared<VariablePath>(slot, splitPath(dotted));
    }
    scope->noteDocumentRead();
    return makeFieldPath(dotted);
}

StatusOr<ExprPtr> parseString(const Element& element, ExprScope* scope) {
    const std::string_view text = element.stringValue();
    if (!text.starts_with('$')) {
        return makeLiteral(Value(element));
    }
    if (text.starts_with("$$")) {
        return parseVariable(text.substr(2), scope);
    }
    FRESHET_RETURN_IF_ERROR(checkFieldPath(text.substr(1)));
    return makeCurrentPath(text.substr(1), scope);
}

StatusOr<ExprPtr> parseArray(Document array, ExprScope* scope) {
    auto result = std::make_shared<ArrayExpression>();
    for (const Element& member : array) {
        FRESHET_ASSIGN_OR_RETURN(ExprPtr expression, parseExpression(member, scope));
        result->add(std::move(expression));
    }
    return ExprPtr(std::move(result));
}

}  // namespace

Status nestsTooDeeply() {
    return invalid(Reason::kOverflow,
                   "cannot convert document to BSON because it exceeds the limit of " +
                       std::to_string(kComputedNestingMax) + " levels of nesting");
}

Value ExprContext::fail(Reason reason, std::string text) {
    if (error.isOk()) {
        error = invalid(reason, std::move(text));
    }
    return {};
}

bool ExprContext::allows(size_t bytes) {
    if (bytes > kValueBytesMax) {
        fail(Reason::kExceededMemoryLimit,
             "a value made by an expression exceeds " + std::to_string(kValueBytesMax) + " bytes");
        return false;
    }
    return mayGoOnWith(bytes);
}

bool ExprContext::allowsIn(const bson::Builder& out, size_t bytes) {
    return bytes < out.roomLeft() && out.endsAt() + bytes <= kValueBytesMax
               ? mayGoOnWith(0)
               : allows(out.endsAt() + bytes);
}

bool ExprContext::mayGoOnWith(size_t bytes) {
    // A value grows in a builder, which may have twice its size, and is then copied.
    constexpr size_t kTimes = 3;
    Status status = bytes < sync::MemoryHold::kUnitBytes ? mayGoOn() : mayTake(kTimes * bytes);
    if (!status.isOk() && error.isOk()) {
        error = std::move(status);
    }
    return !failed();
}

bool ExprContext::allowsNesting(const Element& value, int above) {
    if (bson::nestsWithin(value, kComputedNestingMax - above)) {
        return true;
    }
    failNesting();
    return false;
}

void ExprContext::failNesting() {
    if (!failed()) {
        error = nestsTooDeeply();
    }
}

void ExprContext::setVariable(size_t slot, Value value) {
    if (variables.size() <= slot) {
        variables.resize(slot + 1);
    }
    variables[slot] = std::move(value);
}

Value ExprScope::constant(std::string_view name) {
    if (const auto at = named_.find(std::string(name)); at != named_.end()) {
        return at->second;
    }
    const Element found = constants_.find(name);
    return found.isMissing() ? Value() : named_.emplace(name, Value(found).own()).first->second;
}

int ExprScope::find(std::string_view name) const {
    const auto at = slots_.find(std::string(name));
    return at == slots_.end() ? -1 : at->second;
}

size_t ExprScope::push(std::string name, int levels) {
    const auto slot = static_cast<int>(names_.size());
    const auto [at, isNew] = slots_.try_emplace(name, slot);
    const int hidden = isNew ? -1 : std::exchange(at->second, slot);
    const int outer = names_.empty() ? 0 : names_.back().tallest;
    names_.push_back({std::move(name), hidden, std::max(outer, levels)});
    return static_cast<size_t>(slot);
}

void ExprScope::pop(size_t count) {
    for (; count > 0; --count) {
        const Name& last = names_.back();
        if (last.hidden < 0) {
            slots_.erase(last.text);
        } else {
            slots_[last.text] = last.hidden;
        }
        names_.pop_back();
    }
}

StatusOr<ExprPtr> parseExpression(const Element& element, ExprScope* scope) {
    FRESHET_RETURN_IF_ERROR(mayGoOn());
    const ExprScope::Level level(scope);
    switch (element.type()) {
        case Type::kString:
            return parseString(element, scope);
        case Type::kObject:
            return parseObjectExpression(element.document(), scope);
        case Type::kArray:
            return parseArray(element.document(), scope);
        default:
            return makeLiteral(Value(element));
    }
}

StatusOr<ExprPtr> parseExpression(const Element& element) {
    ExprScope scope;
    return parseExpression(element, &scope);
}

StatusOr<ExprPtr> parseBinding(const Element& element, ExprScope* scope, int* levels) {
    const int outer = std::exchange(scope->deepest_, scope->level_);
    auto expression = parseExpression(element, scope);
    *levels = scope->deepest_ - scope->level_;
    *levels += scope->names_.empty() ? 0 : scope->names_.back().tallest;
    scope->deepest_ = std::max(outer, scope->deepest_);
    if (expression.isOk() && *levels > kComputedNestingMax) {
        return invalid(Reason::kOverflow, "the values of variables would nest too deeply");
    }
    return expression;
}

StatusOr<ExprPtr> parseObjectExpression(Document object, ExprScope* scope) {
    if (!object.isEmpty() && object.begin()->name().starts_with('$')) {
        if (object.fieldCount() != 1) {
            return invalid(Reason::kExpressionNotSingleField,
                           "an object representing an expression must have exactly one field: " +
                               bson::toShellText(object));
        }
        return parseOperator(*object.begin(), scope);
    }
    auto result = std::make_shared<ObjectExpression>();
    for (const Element& field : object) {
        FRESHET_RETURN_IF_ERROR(checkFieldName(field.name()));
        if (field.name().find('.') != std::string_view::npos) {
            return invalid(location(16412),
                           "FieldPath field names may not contain '.'. Consider using $getField "
                           "or $setField.");
        }
        FRESHET_ASSIGN_OR_RETURN(ExprPtr expression, parseExpression(field, scope));
        result->add(std::string(field.name()), std::move(expression));
    }
    return ExprPtr(std::move(result));
}

ExprPtr makeLiteral(Value value) {
    return std::make_shared<Literal>(std::move(value));
}

ExprPtr makeFieldPath(std::string_view dotted) {
    return std::make_shared<FieldPath>(dotted);
}

Status checkFieldName(std::string_view name) {
    if (name.empty()) {
        return invalid(location(15998), "FieldPath field names may not be empty strings.");
    }
    if (name[0] == '$' && !bson::isDbRefPart(name)) {
        return invalid(location(16410),
                       "FieldPath field names may not start with '$'. Consider using $getField or "
                       "$setField.");
    }
    if (name.find('\0') != name.npos) {
        return invalid(location(16411), "FieldPath field names may not contain '\\0'.");
    }
    return Status::ok();
}

Status checkFieldPath(std::string_view path) {
    FRESHET_RETURN_IF_ERROR(bson::checkPathLength(path));
    if (path.empty()) {
        return invalid(Reason::kFieldPathInvalid, "'$' by itself is not a valid FieldPath");
    }
    if (path.back() == '.') {
        return invalid(location(40353), "FieldPath must not end with a '.'.");
    }
    for (const std::string& part : splitPath(path)) {
        FRESHET_RETURN_IF_ERROR(checkFieldName(part));
    }
    return Status::ok();
}

Status checkVariableName(std::string_view name) {
    const auto isUnicode = [](char c) { return static_cast<unsigned char>(c) >= 0x80; };
    const auto isLower = [](char c) { return c >= 'a' && c <= 'z'; };
    const auto isUpperOrDigit = [](char c) {
        return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    };
    if (name.empty()) {
        return invalid(Reason::kFailedToParse, "empty variable names are not allowed");
    }
    if (name == "CURRENT") {
        return Status::ok();
    }
    if (!isLower(name[0]) && !isUnicode(name[0])) {
        return invalid(Reason::kFailedToParse,
                       "'" + std::string(name) +
                           "' starts with an invalid character for a user variable name");
    }
    for (const char c : name) {
        if (!isLower(c) && !isUpperOrDigit(c) && c != '_' && !isUnicode(c)) {
            return invalid(Reason::kFailedToParse,
                           "'" + std::string(name) +
                               "' contains an invalid character for a variable name: '" + c + "'");
        }
    }
    return Status::ok();
}

StatusOr<Value> evaluateOnce(const Expression& expression, Document document) {
    ExprContext context;
    context.root = document;
    context.nowMillis = platform::wallMillis();
    Value value = expression.evaluate(context);
    if (context.failed()) {
        return std::move(context.error);
    }
    return value;
}

Value followPath(const Value& start, const std::vector<std::string>& parts, size_t from) {
    Value at = start;
    for (size_t i = from; i < parts.size(); ++i) {
        if (at.element().isArray()) {
            bson::Builder builder;
            for (const Element& member : at.element().document()) {
                if (!member.isObject()) {
                    continue;
                }
                const Value found = followPath(at.part(member), parts, i);
                if (!found.isMissing()) {
                    builder.pushElement(found.element());
                }
            }
            return Value::ofArray(builder.finish());
        }
        if (!at.element().isObject()) {
            return {};
        }
        at = at.part(at.element().document().find(parts[i]));
    }
    return at;
}

std::vector<std::string> splitPath(std::string_view dotted) {
    std::vector<std::string> parts;
    for (;;) {
        const size_t dot = dotted.find('.');
        parts.emplace_back(dotted.substr(0, dot));
        if (dot == std::string_view::npos) {
            return parts;
        }
        dotted.remove_prefix(dot + 1);
    }
}

}  // namespace freshet::query
