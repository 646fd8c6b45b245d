// SPDX-License-Identifier: Apache-2.0
/// Operators on objects.
#include "freshet/bson/json.h"
#include "freshet/query/expression/operators.h"

#include <absl/container/flat_hash_map.h>

#include <string>
#include <utility>
#include <vector>

namespace freshet::query {
namespace {

using bson::Document;
using bson::Element;

/// Fields of a new object: a later value replaces an earlier one of the same name in its position.
class FieldsInOrder {
public:
    void set(std::string_view name, const Element& value) {
        const auto [at, isNew] = places_.try_emplace(name, fields_.size());
        if (isNew) {
            fields_.emplace_back(name, value);
        } else {
            fields_[at->second].second = value;
        }
    }
    Value document() const {
        bson::Builder builder;
        for (const auto& [name, value] : fields_) {
            builder.addAs(name, value);
        }
        return Value::ofDocument(builder.finish());
    }

private:
    std::vector<std::pair<std::string_view, Element>> fields_;
    absl::flat_hash_map<std::string_view, size_t> places_;  // in fields_
};

Value objectToArray(ExprContext& context, Arguments arguments) {
    if (arguments[0].isNullish()) {
        return Value::null();
    }
    if (!arguments[0].element().isObject()) {
        return context.fail(
            location(40390),
            "$objectToArray requires a document input, found: " + typeText(arguments[0]));
    }
    bson::Builder builder;
    for (const Element& field : arguments[0].element().document()) {
        bson::Builder pair = builder.object(builder.nextIndex());
        pair.add("k", field.name());
        pair.addAs("v", field);
    }
    return Value::ofArray(builder.finish());
}

std::string typeName(const Element& element) {
    return std::string(bson::typeName(element.type()));
}

/// Fails: $arrayToObject found something that it does not take.
bool refuse(ExprContext& context, uint32_t number, const std::string& text) {
    context.fail(location(number), "$arrayToObject requires " + text);
    return false;
}

/// Key and value of [key, value]. False: the context has failed.
bool pairOfArray(ExprContext& context, const Element& member, Element* key, Element* value) {
    if (!member.isArray()) {
        return refuse(context,
                      40396,
                      "a consistent input format. Elements mustall be arrays or all be objects. "
                      "Array was detected, now found: " +
                          typeName(member));
    }
    const Document pair = member.document();
    if (const size_t size = static_cast<size_t>(pair.fieldCount()); size != 2) {
        return refuse(context,
                      40397,
                      "an array of size 2 arrays,found array of size: " + std::to_string(size));
    }
    auto at = pair.begin();
    *key = *at;
    *value = *++at;
    return key->isString() ||
           refuse(context,
                  40395,
                  "an array of key-value pairs, where the key must be of type string. Found key "
                  "type: " +
                      typeName(*key));
}

/// Key and value of {k: key, v: value}. False: the context has failed.
bool pairOfObject(ExprContext& context, const Element& member, Element* key, Element* value) {
    if (!member.isObject()) {
        return refuse(context,
                      40391,
                      "a consistent input format. Elements mustall be arrays or all be objects. "
                      "Object was detected, now found: " +
                          typeName(member));
    }
    const Document pair = member.document();
    if (const size_t size = static_cast<size_t>(pair.fieldCount()); size != 2) {
        return refuse(context,
                      40392,
                      "an object keys of 'k' and 'v'. Found incorrect number of keys:" +
                          std::to_string(size));
    }
    *key = pair.find("k");
    *value = pair.find("v");
    if (key->isMissing() || value->isMissing()) {
        return refuse(context,
                      40393,
                      "an object with keys 'k' and 'v'. Missing either or both keys from: " +
                          bson::toShellText(pair));
    }
    return key->isString() ||
           refuse(context,
                  40394,
                  "an object with keys 'k' and 'v', where the value of 'k' must be of type "
                  "string. Found type: " +
                      typeName(*key));
}

/// The first member tells the form of all.
Value arrayToObject(ExprContext& context, Arguments arguments) {
    if (arguments[0].isNullish()) {
        return Value::null();
    }
    const Element& input = arguments[0].element();
    if (!input.isArray()) {
        return context.fail(
            location(40386),
            "$arrayToObject requires an array input, found: " + typeText(arguments[0]));
    }
    FieldsInOrder fields;
    if (input.document().isEmpty()) {
        return fields.document();
    }
    const Element first = *input.document().begin();
    if (!first.isArray() && !first.isObject()) {
        return context.fail(
            location(40398),
            "Unrecognised input type format for $arrayToObject: " + typeName(first));
    }
    const auto pairOf = first.isArray() ? pairOfArray : pairOfObject;
    for (const Element& member : input.document()) {
        Element key;
        Element value;
        if (!pairOf(context, member, &key, &value)) {
            return {};
        }
        if (key.stringValue().find('\0') != std::string_view::npos) {
            return context.fail(location(first.isArray() ? 4940400 : 4940401),
                                "Key field cannot contain an embedded null byte");
        }
        fields.set(key.stringValue(), value);
    }
    return fields.document();
}

constexpr FunctionSpec kObjects[] = {
    {"$mergeObjects", 0, kAnyNumber, mergeObjects},
    {"$objectToArray", 1, 1, objectToArray},
    {"$arrayToObject", 1, 1, arrayToObject},
};

}  // namespace

/// Fields of later objects replace earlier ones in their position.
Value mergeObjects(ExprContext& context, Arguments arguments) {
    std::vector<Element> inputs;
    if (arguments.size() == 1 && arguments[0].element().isArray()) {
        for (const Element& member : arguments[0].element().document()) {
            inputs.push_back(member);
        }
    } else {
        for (const Value& argument : arguments) {
            inputs.push_back(argument.element());
        }
    }
    FieldsInOrder fields;
    for (const Element& input : inputs) {
        if (Value(input).isNullish()) {
            continue;
        }
        if (!input.isObject()) {
            return context.fail(location(40400),
                                "$mergeObjects requires object inputs, but input " +
                                    bson::toShellText(input) + " is of type " +
                                    std::string(bson::typeName(input.type())));
        }
        for (const Element& field : input.document()) {
            fields.set(field.name(), field);
        }
    }
    return fields.document();
}

std::span<const FunctionSpec> objectFunctions() {
    return kObjects;
}

}  // namespace freshet::query
