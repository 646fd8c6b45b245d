// SPDX-License-Identifier: Apache-2.0
/// Aggregation expressions: parsed once into a tree, evaluated per document. A failing evaluation
/// leaves its first error in the context and goes on with missing values, so that the common path
/// carries no status; whoever started the evaluation looks at the context when it is done.
///
/// INV-1  An expression is immutable and owns all it needs; any thread may evaluate it.
/// INV-2  A result may borrow from the context's root document or from the expression.
#pragma once

#include "freshet/query/expression/value.h"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace freshet::query {

/// What one value may take; beyond it an evaluation fails.
inline constexpr size_t kValueBytesMax = 64u * 1024 * 1024;

/// One evaluation, or many in a row; reset by setting root and error.
struct ExprContext {
    bson::Document root;
    Status error = {};
    int64_t nowMillis = 0;
    std::vector<Value> variables;  // by slot

    /// Keeps the first error. Returns missing, for `return ctx.fail(...)`.
    Value fail(Reason reason, std::string text);
    bool failed() const { return !error.isOk(); }
    /// Fails when a value of that many bytes is too large to be made.
    bool allows(size_t bytes);
    /// For loops: fails when the operation is to end, or may not take so much more memory.
    bool mayGoOnWith(size_t bytes);
    void setVariable(size_t slot, Value value);
};

class Expression {
public:
    virtual ~Expression() = default;
    virtual Value evaluate(ExprContext& context) const = 0;
    /// The same for every document.
    virtual bool isConstant() const { return false; }
};

using ExprPtr = std::shared_ptr<const Expression>;

/// Names visible at a place in an expression's text.
class ExprScope {
public:
    ExprScope() = default;
    /// `constants`: names that stand for their values; undefined stands for missing. Must outlive
    /// the scope, not the expressions.
    explicit ExprScope(bson::Document constants) : constants_(constants) {}
    /// The value of a constant; missing when there is none.
    bson::Element constant(std::string_view name) const { return constants_.find(name); }
    /// The slot of $$name; -1 when there is no such variable.
    int find(std::string_view name) const;
    /// Makes $$name visible until pop(). Inner names hide outer ones.
    size_t push(std::string name);
    void pop(size_t count);
    /// Something parsed in this scope takes its value from the document: a field path, $$ROOT.
    void noteDocumentRead() { readsDocument_ = true; }
    bool readsDocument() const { return readsDocument_; }

private:
    bson::Document constants_;
    std::vector<std::string> names_;  // the index is the slot
    bool readsDocument_ = false;
};

/// kInvalid: kUnknownExpression, kExpressionArity, kFailedToParse ... with MongoDB's text.
StatusOr<ExprPtr> parseExpression(const bson::Element& element, ExprScope* scope);
StatusOr<ExprPtr> parseExpression(const bson::Element& element);
/// {a: <expression>, ...} or {$operator: ...}.
StatusOr<ExprPtr> parseObjectExpression(bson::Document object, ExprScope* scope);
ExprPtr makeLiteral(Value value);
/// The field at a dotted path (without the dollar) of the current document.
ExprPtr makeFieldPath(std::string_view dotted);

/// A dotted path, without its dollar.
Status checkFieldPath(std::string_view path);
Status checkFieldName(std::string_view name);
/// "'1x' starts with an invalid character for a user variable name" and its kin.
Status checkVariableName(std::string_view name);
/// Evaluates for one document outside a stage.
StatusOr<Value> evaluateOnce(const Expression& expression, bson::Document document);

/// What MongoDB's $cond, $and ... take for true.
inline bool isTrue(const Value& value) {
    return value.element().isTruthy();
}

/// Follows a dotted path through objects; arrays on the way become arrays of what is found in their
/// objects.
Value followPath(const Value& start, const std::vector<std::string>& parts, size_t from);
std::vector<std::string> splitPath(std::string_view dotted);

}  // namespace freshet::query
