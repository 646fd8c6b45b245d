// SPDX-License-Identifier: Apache-2.0
/// Operators that replace one value by another: $set, $unset, $inc, $mul, $min, $max, $currentDate,
/// $bit, $setOnInsert, and the two halves of $rename.
#include "freshet/bson/compare.h"
#include "freshet/bson/json.h"
#include "freshet/query/expression/number.h"
#include "freshet/query/language.h"
#include "freshet/query/update/op.h"

namespace freshet::query {
namespace {

using bson::Element;
using bson::Type;

class SetOp final : public UpdateOp {
public:
    SetOp(const Element& value, bool onlyOnInsert) : value_(value), onlyOnInsert_(onlyOnInsert) {}
    StatusOr<OpResult> apply(const OpTarget& target) const override {
        return creates(target) ? OpResult::set(Value(value_)) : OpResult::keep();
    }
    bool creates(const OpTarget& target) const override {
        return !onlyOnInsert_ || target.isInsert;
    }
    int depth() const override { return nestingOf(value_); }

private:
    Element value_;
    bool onlyOnInsert_;
};

class UnsetOp final : public UpdateOp {
public:
    StatusOr<OpResult> apply(const OpTarget& target) const override {
        return target.existing.isMissing() ? OpResult::keep() : OpResult::remove();
    }
    bool creates(const OpTarget&) const override { return false; }
};

class RenameTargetOp final : public UpdateOp {
public:
    explicit RenameTargetOp(std::string source) : source_(std::move(source)) {}
    StatusOr<OpResult> apply(const OpTarget& target) const override {
        const Element moved = target.fields->findPath(target.root, source_);
        return moved.isMissing() ? OpResult::keep() : OpResult::set(Value(moved));
    }
    bool creates(const OpTarget& target) const override {
        return !target.fields->findPath(target.root, source_).isMissing();
    }
    bool movesValues() const override { return true; }

private:
    std::string source_;
};

class ArithmeticOp final : public UpdateOp {
public:
    ArithmeticOp(Arithmetic op, const Element& operand) : op_(op), operand_(operand) {}
    StatusOr<OpResult> apply(const OpTarget& target) const override {
        if (target.existing.isMissing()) {
            return OpResult::set(op_ == Arithmetic::kAdd ? Value(operand_)
                                                         : zeroLike(operand_.type()));
        }
        if (!target.existing.isNumber()) {
            return invalid(
                Reason::kTypeMismatch,
                "Cannot apply " + std::string(name()) + " to a value of non-numeric type. " +
                    idText(target.root) + " has the field '" + std::string(lastName(target.path)) +
                    "' of non-numeric type " + std::string(bson::typeName(target.existing.type())));
        }
        Value result = calculate(op_, target.existing, operand_);
        if (result.isMissing()) {
            return badValue("Failed to apply " + std::string(name()) +
                            " operations to current value (" + shown(target.existing) +
                            ") for document " + idText(target.root));
        }
        return OpResult::set(std::move(result));
    }

private:
    const char* name() const { return op_ == Arithmetic::kAdd ? "$inc" : "$mul"; }

    static std::string_view lastName(std::string_view path) {
        return path.substr(path.rfind('.') + 1);
    }

    static std::string shown(const Element& value) {
        const char* type = value.type() == Type::kInt32 ? "(NumberInt)" : "(NumberLong)";
        return type + std::to_string(value.toInt64());
    }

    static Value zeroLike(Type type) {
        switch (type) {
            case Type::kInt32:
                return Value::of(int32_t{0});
            case Type::kInt64:
                return Value::of(int64_t{0});
            case Type::kDouble:
                return Value::of(0.0);
            default:
                return Value::of(toDecimal(Value::of(int32_t{0}).element()));
        }
    }

    Arithmetic op_;
    Element operand_;
};

class BoundOp final : public UpdateOp {
public:
    BoundOp(bool isMax, const Element& operand) : isMax_(isMax), operand_(operand) {}
    StatusOr<OpResult> apply(const OpTarget& target) const override {
        if (!target.existing.isMissing()) {
            const int order = bson::compareValues(operand_, target.existing);
            if (isMax_ ? order <= 0 : order >= 0) {
                return OpResult::keep();
            }
        }
        return OpResult::set(Value(operand_));
    }
    int depth() const override { return nestingOf(operand_); }

private:
    bool isMax_;
    Element operand_;
};

class CurrentDateOp final : public UpdateOp {
public:
    explicit CurrentDateOp(bool asTimestamp) : asTimestamp_(asTimestamp) {}
    StatusOr<OpResult> apply(const OpTarget& target) const override {
        if (asTimestamp_) {
            const auto seconds = static_cast<uint64_t>(target.nowMillis / 1000);
            return OpResult::set(Value::of(bson::Timestamp{seconds << 32 | 1}));
        }
        return OpResult::set(Value::of(bson::Date{target.nowMillis}));
    }

private:
    bool asTimestamp_;
};

class BitOp final : public UpdateOp {
public:
    explicit BitOp(bson::Document steps) : steps_(steps) {}
    StatusOr<OpResult> apply(const OpTarget& target) const override {
        if (!target.existing.isMissing() && !target.existing.isInteger()) {
            return badValue("Cannot apply $bit to a value of non-integral type." +
                            idText(target.root) + " has the field " + std::string(target.path) +
                            " of non-integer type " +
                            std::string(bson::typeName(target.existing.type())));
        }
        int64_t value = target.existing.toInt64();
        bool wide = target.existing.type() == Type::kInt64;
        for (const Element& step : steps_) {
            wide |= step.type() == Type::kInt64;
            const int64_t operand = step.toInt64();
            value = step.name() == "and"  ? value & operand
                    : step.name() == "or" ? value | operand
                                          : value ^ operand;
        }
        return OpResult::set(wide ? Value::of(value) : Value::of(static_cast<int32_t>(value)));
    }

private:
    bson::Document steps_;
};

StatusOr<OpPtr> parseArithmetic(Arithmetic op, const Element& element) {
    if (!element.isNumber()) {
        return invalid(
            Reason::kTypeMismatch,
            std::string(op == Arithmetic::kAdd ? "Cannot increment" : "Cannot multiply") +
                " with non-numeric argument: {" + elementText(element) + "}");
    }
    return OpPtr(std::make_shared<ArithmeticOp>(op, element));
}

StatusOr<OpPtr> parseCurrentDate(const Element& element) {
    if (element.type() == Type::kBool) {
        return OpPtr(std::make_shared<CurrentDateOp>(false));
    }
    if (!element.isObject()) {
        return badValue(std::string(bson::typeName(element.type())) +
                        " is not valid type for $currentDate. Please use a boolean ('true') or a "
                        "$type expression ({$type: 'timestamp/date'}).");
    }
    for (const Element& field : element.document()) {
        if (field.name() != "$type") {
            return badValue("Unrecognized $currentDate option: " + std::string(field.name()));
        }
    }
    const Element type = element.document().find("$type");
    if (!type.isString() || (type.stringValue() != "date" && type.stringValue() != "timestamp")) {
        return badValue(
            "The '$type' string field is required to be 'date' or 'timestamp': "
            "{$currentDate: {field : {$type: 'date'}}}");
    }
    return OpPtr(std::make_shared<CurrentDateOp>(type.stringValue() == "timestamp"));
}

StatusOr<OpPtr> parseBit(const Element& element) {
    const std::string name(element.name());
    if (!element.isObject()) {
        return badValue("The $bit modifier is not compatible with a " +
                        std::string(bson::typeName(element.type())) +
                        ". You must pass in an embedded document: {$bit: {field: {and/or/xor: #}}");
    }
    if (element.document().isEmpty()) {
        return badValue(
            "You must pass in at least one bitwise operation. The format is: {$bit: "
            "{field: {and/or/xor: #}}");
    }
    for (const Element& step : element.document()) {
        if (step.name() != "and" && step.name() != "or" && step.name() != "xor") {
            return badValue("The $bit modifier only supports 'and', 'or', and 'xor', not '" +
                            std::string(step.name()) + "' which is an unknown operator: {" +
                            elementText(step) + "}");
        }
        if (!step.isInteger()) {
            return badValue("The $bit modifier field must be an Integer(32/64 bit); a '" +
                            std::string(bson::typeName(step.type())) +
                            "' is not supported here: {" + elementText(step) + "}");
        }
    }
    return OpPtr(std::make_shared<BitOp>(element.document()));
}

StatusOr<OpPtr> parseSet(const Element& e) {
    return OpPtr(std::make_shared<SetOp>(e, false));
}
StatusOr<OpPtr> parseSetOnInsert(const Element& e) {
    return OpPtr(std::make_shared<SetOp>(e, true));
}
StatusOr<OpPtr> parseUnset(const Element&) {
    return makeUnset();
}
StatusOr<OpPtr> parseInc(const Element& e) {
    return parseArithmetic(Arithmetic::kAdd, e);
}
StatusOr<OpPtr> parseMul(const Element& e) {
    return parseArithmetic(Arithmetic::kMultiply, e);
}
StatusOr<OpPtr> parseMin(const Element& e) {
    return OpPtr(std::make_shared<BoundOp>(false, e));
}
StatusOr<OpPtr> parseMax(const Element& e) {
    return OpPtr(std::make_shared<BoundOp>(true, e));
}

struct Modifier {
    std::string_view name;
    StatusOr<OpPtr> (*parse)(const Element& element);
};

constexpr Modifier kModifiers[] = {
    {"$set", parseSet},
    {"$unset", parseUnset},
    {"$inc", parseInc},
    {"$mul", parseMul},
    {"$min", parseMin},
    {"$max", parseMax},
    {"$setOnInsert", parseSetOnInsert},
    {"$currentDate", parseCurrentDate},
    {"$bit", parseBit},
    {"$push", parsePush},
    {"$addToSet", parseAddToSet},
    {"$pop", parsePop},
    {"$pull", parsePull},
    {"$pullAll", parsePullAll},
};

// Each becomes two operators in program.cpp.
constexpr std::string_view kRename = "$rename";

}  // namespace

StatusOr<OpPtr> parseOp(std::string_view modifier, const Element& element) {
    for (const Modifier& known : kModifiers) {
        if (known.name == modifier) {
            return known.parse(element);
        }
    }
    return invalid(Reason::kFailedToParse,
                   "Unknown modifier: " + std::string(modifier) +
                       ". Expected a valid update modifier or pipeline-style update specified as "
                       "an array");
}

bool isModifier(std::string_view name) {
    for (const Modifier& known : kModifiers) {
        if (known.name == name) {
            return true;
        }
    }
    return name == kRename;
}

Words updateWords() {
    Words words;
    addWords(kModifiers, &words);
    words.push_back({.name = kRename});
    return words;
}

OpPtr makeSet(const Element& value) {
    return std::make_shared<SetOp>(value, false);
}

OpPtr makeUnset() {
    return std::make_shared<UnsetOp>();
}

OpPtr makeRenameTarget(std::string source) {
    return std::make_shared<RenameTargetOp>(std::move(source));
}

std::string idText(bson::Document document) {
    const Element id = document.find("_id");
    return id.isMissing() ? "{ }" : "{" + elementText(id) + "}";
}

std::string elementText(const Element& element) {
    return std::string(element.name()) + ": " + bson::toShellText(element);
}

bool sameBytes(const Element& a, const Element& b) {
    return a.type() == b.type() && a.value() == b.value();
}

}  // namespace freshet::query
