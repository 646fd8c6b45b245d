// SPDX-License-Identifier: Apache-2.0
/// The internals of a Matcher: what a node holds beyond what the planner reads, how a tree is made
/// from a filter, and how it is evaluated.
///
/// INV-1  A tree's elements point into the filter that it was made from, or into an Extra's bytes.
/// INV-2  A negated node ($not, $nor) never records the index for the positional operator.
#pragma once

#include "freshet/query/match.h"
#include "freshet/query/match/path.h"
#include "freshet/query/regex/regex.h"

#include <bitset>

namespace freshet::query {

class Expression;
class JsonSchema;

struct MatchNode::Extra {
    explicit Extra(std::string_view dotted) : path(dotted) {}

    MatchPath path;
    std::string bytes;  // storage for a rewritten operand
    std::shared_ptr<const Regex> regex;
    std::shared_ptr<const Expression> expression;
    std::shared_ptr<const JsonSchema> schema;  // kJsonSchema
    std::string script;                        // kWhere
    std::bitset<256> types;                    // kType: by type byte
    bool hasNull = false;                      // kIn
    int64_t divisor = 0;                       // kMod
    int64_t remainder = 0;                     // kMod
    int64_t size = 0;                          // kSize
    std::vector<uint32_t> bits;                // kBits: positions
    ByteView mask;                             // kBits: positions as binary data
    bool bitsWanted = false;                   // looks for ones; false: for zeros
    bool bitsAll = false;                      // every position must fit; false: any
};

using NodePtr = std::unique_ptr<MatchNode>;

/// The tree of a whole filter. `filter` must outlive it. `variables`: the values of $$name in
/// $expr.
StatusOr<NodePtr> parseFilter(bson::Document filter, bson::Document variables = {});
/// kInvalid when the tree has a $expr, $where or $jsonSchema, which apply to whole documents only.
Status refuseExpr(const MatchNode& node);
/// kInvalid when the tree has a $where: only filters of commands may have one.
Status refuseWhere(const MatchNode& node);
/// The tree of {$gt: 5, ...} for single values.
StatusOr<NodePtr> parseValueCondition(bson::Document condition);
/// True for {$op: ...} other than a DBRef: a condition, not a value.
bool isOperatorObject(bson::Document object);
/// $and, $or, $nor: conditions on documents, although they start with a dollar.
bool isDocumentOperator(std::string_view name);

/// kAnd or kOr of `children` in canonical form.
NodePtr combine(MatchOp op, std::vector<NodePtr> children);
/// Turns each $or of equalities on one path into an $in, also below `node`. Recursion is as deep as
/// the filter.
void mergeEqualities(NodePtr* node);
/// The form that kIn requires: ascending and distinct.
void sortOperands(std::vector<bson::Element>* operands);

// Parts of the parser; each appends what `element`, an operator with its operand, means for `path`.
Status parsePathOperator(std::string_view path,
                         const bson::Element& element,
                         std::vector<NodePtr>* out);
/// All members of an operator object.
Status parsePathOperators(std::string_view path, bson::Document object, std::vector<NodePtr>* out);
StatusOr<NodePtr> makeRegexNode(std::string_view path,
                                std::string_view pattern,
                                std::string_view flags);
NodePtr makeNode(MatchOp op, std::string_view path, std::shared_ptr<MatchNode::Extra>* extra);
StatusOr<NodePtr> parseTypeNode(std::string_view path, const bson::Element& operand);
StatusOr<NodePtr> parseModNode(std::string_view path, const bson::Element& operand);
StatusOr<NodePtr> parseSizeNode(std::string_view path, const bson::Element& operand);
StatusOr<NodePtr> parseBitsNode(std::string_view path, const bson::Element& element);

/// One evaluation of a tree.
struct MatchRun {
    bson::Document root;
    Status error = {};  // of the first $expr that failed
    // For the positional operator: the index found along `arrayPath`, and the last one found.
    bool recording = false;
    std::string_view arrayPath = {};
    FieldFinder* fields = nullptr;  // for a tree that looks up many fields; may be null
    int indexOnPath = -1;
    int indexAnywhere = -1;
};

bool matchDocument(const MatchNode& node, bson::Document document, MatchRun* run);
bool matchSingle(const MatchNode& node, const bson::Element& element, MatchRun* run);

}  // namespace freshet::query
