// SPDX-License-Identifier: Apache-2.0
/// Aggregation expressions: parsed once into a tree, evaluated per document. A failing evaluation
/// leaves its first error in the context and continues with missing values, so the common path
/// carries no status; the caller that started the evaluation checks the context afterwards.
///
/// INV-1  An expression is immutable and owns everything it needs; any thread may evaluate it.
/// INV-2  A result may borrow from the context's root document or from the expression.
#pragma once

#include "freshet/bson/path.h"
#include "freshet/query/expression/value.h"
#include "freshet/query/fields/field_finder.h"

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace freshet::query {

/// The largest size of one value; beyond it an evaluation fails.
inline constexpr size_t kValueBytesMax = 64u * 1024 * 1024;
/// How deep a document that a stage or a projection makes may nest. A value inside an expression
/// may nest deeper, by as much as the expression's text adds.
inline constexpr int kComputedNestingMax = bson::kPathPartsMax;

/// kInvalid (kOverflow): the error for a document that would nest deeper than that.
Status nestsTooDeeply();

/// One evaluation, or many in a row; reset by setting root and error.
struct ExprContext {
    RootDocument root;
    Status error = {};
    int64_t nowMillis = 0;
    std::vector<Value> variables;  // by slot

    /// Keeps the first error. Returns missing, for `return ctx.fail(...)`.
    Value fail(Reason reason, std::string text);
    bool failed() const { return !error.isOk(); }
    /// Fails if a value of so many bytes would be too large.
    bool allows(size_t bytes);
    /// Fails if `out` would be too large with a value of so many bytes.
    bool allowsIn(const bson::Builder& out, size_t bytes);
    /// For loops: fails if the operation must end, or may not take `bytes` more memory.
    bool mayGoOnWith(size_t bytes);
    /// Fails if the value nests too deeply for a document that holds it `above` levels down.
    bool allowsNesting(const bson::Element& value, int above);
    void failNesting();
    void setVariable(size_t slot, Value value);
};

class Expression {
public:
    virtual ~Expression() = default;
    virtual Value evaluate(ExprContext& context) const = 0;
    /// Gives the same value for every document.
    virtual bool isConstant() const { return false; }
};

using ExprPtr = std::shared_ptr<const Expression>;

/// Names visible at a place in an expression's text.
class ExprScope {
public:
    ExprScope() = default;
    /// `constants`: names with constant values; undefined stands for missing. They must outlive the
    /// scope, but not the expressions.
    explicit ExprScope(bson::Document constants) { constants_ = constants; }
    /// The value of a constant; missing if there is none. All expressions that name it share its
    /// bytes.
    Value constant(std::string_view name);
    /// The slot of $$name; -1 if there is no such variable.
    int find(std::string_view name) const;
    /// Makes $$name visible until pop(). Inner names hide outer ones. `levels`: the nesting of its
    /// value, from parseBinding().
    size_t push(std::string name, int levels);
    void pop(size_t count);

    /// Counts the nesting of expressions while they are parsed.
    class Level {
    public:
        explicit Level(ExprScope* scope) : scope_(scope) {
            scope_->deepest_ = std::max(scope_->deepest_, ++scope_->level_);
        }
        ~Level() { --scope_->level_; }
        Level(const Level&) = delete;
        Level& operator=(const Level&) = delete;

    private:
        ExprScope* scope_;
    };
    /// Notes that something parsed in this scope depends on the document: a field path, $$ROOT.
    void noteDocumentRead() { readsDocument_ = true; }
    bool readsDocument() const { return readsDocument_; }

private:
    friend StatusOr<std::shared_ptr<const Expression>> parseBinding(const bson::Element& element,
                                                                    ExprScope* scope,
                                                                    int* levels);
    struct Name {
        std::string text;
        int hidden;   // the slot of the outer name that this one hides; -1: none
        int tallest;  // levels of this value or of an outer one, whichever nests deepest
    };

    RootDocument constants_;
    std::unordered_map<std::string, Value> named_;  // of the constants
    std::vector<Name> names_;                       // the index is the slot
    std::unordered_map<std::string, int> slots_;    // of the names that are visible
    int level_ = 0;                                 // nesting of expressions
    int deepest_ = 0;
    bool readsDocument_ = false;
};

/// kInvalid: kUnknownExpression, kExpressionArity, kFailedToParse ... with MongoDB's text.
StatusOr<ExprPtr> parseExpression(const bson::Element& element, ExprScope* scope);
StatusOr<ExprPtr> parseExpression(const bson::Element& element);
/// Parses the value of a variable. *levels: how many levels deeper than the documents and constants
/// at hand the value may nest. kOverflow if there are too many: variables can be made of other
/// variables, each deeper than the one before.
StatusOr<ExprPtr> parseBinding(const bson::Element& element, ExprScope* scope, int* levels);
/// {a: <expression>, ...} or {$operator: ...}.
StatusOr<ExprPtr> parseObjectExpression(bson::Document object, ExprScope* scope);
ExprPtr makeLiteral(Value value);
/// The field at a dotted path (without the dollar) of the current document.
ExprPtr makeFieldPath(std::string_view dotted);

/// A dotted path, without its dollar.
Status checkFieldPath(std::string_view path);
Status checkFieldName(std::string_view name);
/// "'1x' starts with an invalid character for a user variable name" and similar errors.
Status checkVariableName(std::string_view name);
/// Evaluates for one document outside a stage.
StatusOr<Value> evaluateOnce(const Expression& expression, bson::Document document);

/// True by the rules of MongoDB's $cond, $and ...
inline bool isTrue(const Value& value) {
    return value.element().isTruthy();
}

/// Follows a dotted path through objects. An array on the way becomes an array of what is found in
/// its objects.
Value followPath(const Value& start, const std::vector<std::string>& parts, size_t from);
std::vector<std::string> splitPath(std::string_view dotted);

}  // namespace freshet::query
