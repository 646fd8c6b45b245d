// SPDX-License-Identifier: Apache-2.0
/// One update operator on one path: what $set, $inc, $push ... do to the value found there.
/// Immutable after parsing; any thread.
#pragma once

#include "freshet/query/expression/value.h"
#include "freshet/query/fields/field_finder.h"
#include "freshet/query/match.h"

#include <map>
#include <memory>
#include <string>

namespace freshet::query {

/// What an operator is applied to.
struct OpTarget {
    bson::Document root;     // the document before the update
    bson::Element existing;  // missing if there is nothing at the path
    std::string_view path;   // for error texts
    bool isInsert = false;   // an upsert makes a new document
    int64_t nowMillis = 0;
    FieldFinder* fields = nullptr;  // in `root`
};

struct OpResult {
    enum What : uint8_t { kKeep, kSet, kRemove };
    What what = kKeep;
    Value value;

    static OpResult keep() { return {}; }
    static OpResult remove() { return {kRemove, {}}; }
    static OpResult set(Value value) { return {kSet, std::move(value)}; }
};

class UpdateOp {
public:
    virtual ~UpdateOp() = default;
    virtual StatusOr<OpResult> apply(const OpTarget& target) const = 0;
    /// Whether it creates a missing value; then objects on the way to it are created, too.
    virtual bool creates(const OpTarget&) const { return true; }
    /// It creates nothing, and yet it is an error if its path leads through a value that has no
    /// fields.
    virtual bool needsViablePath() const { return false; }
    /// How many levels of nesting the operator may add below its path.
    virtual int depth() const { return 0; }
    /// The result may nest deeper than path and operand show.
    virtual bool movesValues() const { return false; }
};

using OpPtr = std::shared_ptr<const UpdateOp>;

/// Parses one operator's operand for one field: `element` is {path: operand}. `element` must
/// outlive the result. $rename is made by the two functions at the end instead.
StatusOr<OpPtr> parseOp(std::string_view modifier, const bson::Element& element);
StatusOr<OpPtr> parsePush(const bson::Element& element);
StatusOr<OpPtr> parseAddToSet(const bson::Element& element);
StatusOr<OpPtr> parsePop(const bson::Element& element);
StatusOr<OpPtr> parsePull(const bson::Element& element);
StatusOr<OpPtr> parsePullAll(const bson::Element& element);
OpPtr makeSet(const bson::Element& value);
OpPtr makeUnset();
/// Takes the value that was at `source` before the update.
OpPtr makeRenameTarget(std::string source);

bool isModifier(std::string_view name);
/// `{_id: 1}`, the way error texts name a document.
std::string idText(bson::Document document);
/// `a: 1`.
std::string elementText(const bson::Element& element);
bool sameBytes(const bson::Element& a, const bson::Element& b);

}  // namespace freshet::query
