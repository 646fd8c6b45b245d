// SPDX-License-Identifier: Apache-2.0
#include "freshet/script/spider/bson_functions.h"

#include "freshet/bson/compare.h"
#include "freshet/bson/json.h"
#include "freshet/platform/thread.h"

#include <strings.h>

#include <cstring>

namespace freshet::script {

namespace {

/// The argument; missing if there are fewer.
bson::Element argument(bson::Document arguments, int index) {
    for (const bson::Element& element : arguments) {
        if (index-- == 0) {
            return element;
        }
    }
    return {};
}

StatusOr<bson::Document> documentArgument(bson::Document arguments) {
    const bson::Element first = argument(arguments, 0);
    if (!first.isObject() && !first.isArray()) {
        return badValue("this needs a document");
    }
    return first.document();
}

StatusOr<std::string> textArgument(bson::Document arguments) {
    const bson::Element first = argument(arguments, 0);
    if (!first.isString()) {
        return badValue("this needs a text");
    }
    return std::string(first.stringValue());
}

StatusOr<Value> newObjectId(bson::Document) {
    return Value::of(bson::ObjectId::generate());
}

/// A random UUID, version 4.
StatusOr<Value> newUuid(bson::Document) {
    char bytes[16];
    const uint64_t words[2] = {platform::randomSeed(), platform::randomSeed()};
    std::memcpy(bytes, words, sizeof bytes);
    bytes[6] = static_cast<char>((bytes[6] & 0x0f) | 0x40);
    bytes[8] = static_cast<char>((bytes[8] & 0x3f) | 0x80);
    return Value::of(bson::Binary{4, ByteView(bytes, sizeof bytes)});
}

StatusOr<Value> decimalText(bson::Document arguments) {
    const bson::Element first = argument(arguments, 0);
    if (first.type() != bson::Type::kDecimal) {
        return badValue("this needs a Decimal128");
    }
    return Value::of(bson::decimalText(first.decimalValue()));
}

bool isNanText(std::string_view text) {
    const size_t sign = !text.empty() && (text[0] == '+' || text[0] == '-') ? 1 : 0;
    return text.size() == sign + 3 && strncasecmp(text.data() + sign, "nan", 3) == 0;
}

bool isNan(const bson::Element& decimal) {
    return bson::decimalText(decimal.decimalValue()) == "NaN";
}

/// Also refuses text that Extended JSON would read as NaN because it is not a decimal or not in
/// range.
StatusOr<Value> decimalOf(bson::Document arguments) {
    FRESHET_ASSIGN_OR_RETURN(const std::string text, textArgument(arguments));
    if (text.find_first_of("\"\\") == std::string::npos) {
        StatusOr<bson::OwnedDocument> parsed =
            bson::fromJson("{\"v\": {\"$numberDecimal\": \"" + text + "\"}}");
        if (parsed.isOk() && (isNanText(text) || !isNan(parsed->view().find("v")))) {
            return Value(std::move(*parsed));
        }
    }
    return badValue("\"" + text + "\" is not a valid Decimal128 string");
}

StatusOr<Value> canonicalJson(bson::Document arguments) {
    FRESHET_ASSIGN_OR_RETURN(const bson::Document document, documentArgument(arguments));
    return Value::of(bson::toCanonicalJson(document));
}

StatusOr<Value> fromJson(bson::Document arguments) {
    FRESHET_ASSIGN_OR_RETURN(const std::string text, textArgument(arguments));
    FRESHET_ASSIGN_OR_RETURN(const bson::OwnedDocument parsed, bson::fromJson(text));
    return Value::of(parsed.view());
}

StatusOr<Value> bsonSize(bson::Document arguments) {
    FRESHET_ASSIGN_OR_RETURN(const bson::Document document, documentArgument(arguments));
    return Value::of(static_cast<int32_t>(document.size()));
}

StatusOr<Value> compare(bson::Document arguments) {
    const int order = bson::compareValues(argument(arguments, 0), argument(arguments, 1));
    return Value::of(static_cast<int32_t>((order > 0) - (order < 0)));
}

/// Whether both have the same bytes, including types and the order of fields.
StatusOr<Value> isSame(bson::Document arguments) {
    const bson::Element a = argument(arguments, 0);
    const bson::Element b = argument(arguments, 1);
    return Value::of(a.type() == b.type() && a.value() == b.value());
}

}  // namespace

Status defineBsonFunctions(Context& context) {
    struct Named {
        const char* name;
        StatusOr<Value> (*function)(bson::Document);
    };
    constexpr Named kFunctions[] = {
        {"newObjectId", &newObjectId},
        {"newUuid", &newUuid},
        {"decimalText", &decimalText},
        {"decimalOf", &decimalOf},
        {"canonicalJson", &canonicalJson},
        {"fromJson", &fromJson},
        {"bsonSize", &bsonSize},
        {"compare", &compare},
        {"isSame", &isSame},
    };
    for (const Named& named : kFunctions) {
        FRESHET_RETURN_IF_ERROR(context.define(named.name, named.function));
    }
    return Status::ok();
}

}  // namespace freshet::script
