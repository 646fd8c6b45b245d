// SPDX-License-Identifier: Apache-2.0
/// Operators on objects.
#include "freshet/bson/json.h"
#include "freshet/query/expression/operators.h"

#include <absl/container/flat_hash_map.h>

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

/// Key and value of one member of $arrayToObject's input; false if it is neither [k, v] nor {k:
/// ..., v: ...}.
bool pairOf(const Element& member, Element* key, Element* value) {
    if (!(member.isArray() || member.isObject()) || member.document().fieldCount() != 2) {
        return false;
    }
    const Document pair = member.document();
    *key = pair.find(member.isArray() ? "0" : "k");
    *value = pair.find(member.isArray() ? "1" : "v");
    return key->isString() && !value->isMissing();
}

Value arrayToObject(ExprContext& context, Arguments arguments) {
    if (arguments[0].isNullish()) {
        return Value::null();
    }
    if (!arguments[0].element().isArray()) {
        return context.fail(
            location(40386),
            "$arrayToObject requires an array input, found: " + typeText(arguments[0]));
    }
    FieldsInOrder fields;
    for (const Element& member : arguments[0].element().document()) {
        Element key;
        Element value;
        if (!pairOf(member, &key, &value)) {
            return context.fail(location(40398),
                                "$arrayToObject requires an array of key-value pairs, where the "
                                "key must be of type string. Found: " +
                                    bson::toShellText(member));
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
