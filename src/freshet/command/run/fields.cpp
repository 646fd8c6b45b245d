// SPDX-License-Identifier: Apache-2.0
#include "freshet/command/run/fields.h"

#include <algorithm>

namespace freshet::command {
namespace {

std::string quotedField(std::string_view context, std::string_view field) {
    return "BSON field '" + std::string(context) + "." + std::string(field) + "'";
}

bool isEmptyValue(const bson::Element& element) {
    if (element.isObject() || element.isArray()) {
        return element.document().isEmpty();
    }
    return !element.isTruthy();
}

}  // namespace

Status unknownField(std::string_view context, std::string_view field) {
    return invalid(Reason::kUnknownField, quotedField(context, field) + " is an unknown field.");
}

BodyIndex::BodyIndex(bson::Document body) : body_(body) {
    for (const bson::Element& element : body) {
        const uint8_t tag = nameTag(element.name());
        if (count_ < kIndexed) {
            tags_[count_] = tag;
            elements_[count_++] = element;
        }
        present_ |= uint64_t{1} << tag;
    }
}

bson::Element BodyIndex::findThere(std::string_view name, uint8_t tag) const {
    for (size_t i = 0; i < count_; ++i) {
        if (tags_[i] == tag && elements_[i].name() == name) {
            return elements_[i];
        }
    }
    return count_ < kIndexed ? bson::Element() : body_.find(name);
}

void Fields::fail(Status status) {
    if (status_.isOk()) {
        status_ = std::move(status);
    }
}

void Fields::wrongType(const bson::Element& element, std::string_view expected) {
    fail(invalid(Reason::kTypeMismatch,
                 quotedField(context_, element.name()) + " is the wrong type '" +
                     std::string(bson::typeName(element.type())) + "', expected " +
                     std::string(expected)));
}

bson::Element Fields::elementThere(std::string_view name) const {
    bson::Element found = index_.find(name);
    const bool isAbsent =
        found.isMissing() || found.isNull() || found.type() == bson::Type::kUndefined;
    return isAbsent ? bson::Element() : found;
}

bool Fields::booleanThere(std::string_view name, bool fallback) {
    bson::Element found = element(name);
    if (found.isMissing()) {
        return fallback;
    }
    if (found.type() != bson::Type::kBool && !found.isNumber()) {
        wrongType(found, "types '[bool, long, int, decimal, double]'");
        return fallback;
    }
    return found.isTruthy();
}

int64_t Fields::integerThere(std::string_view name, int64_t fallback, int64_t least) {
    bson::Element found = element(name);
    if (found.isMissing()) {
        return fallback;
    }
    if (!found.isNumber()) {
        wrongType(found, "types '[long, int, decimal, double]'");
        return fallback;
    }
    const int64_t value = found.toInt64();
    if (value < least) {
        fail(invalid(Reason::kBatchSizeNegative,
                     "BSON field '" + std::string(name) + "' value must be >= " +
                         std::to_string(least) + ", actual value '" + std::to_string(value) + "'"));
        return fallback;
    }
    return value;
}

std::string_view Fields::string(std::string_view name) {
    bson::Element found = element(name);
    if (found.isMissing()) {
        return {};
    }
    if (!found.isString()) {
        wrongType(found, "type 'string'");
        return {};
    }
    return found.stringValue();
}

void Fields::missing(std::string_view name) {
    fail(invalid(Reason::kMissingField,
                 quotedField(context_, name) + " is missing but a required field"));
}

bson::Element Fields::required(std::string_view name) {
    bson::Element found = index_.find(name);
    if (found.isMissing()) {
        missing(name);
    }
    return found;
}

bson::Document Fields::requiredObject(std::string_view name) {
    if (!has(name)) {
        missing(name);
    }
    return object(name);
}

std::vector<bson::Document> Fields::requiredObjects(std::string_view name) {
    if (!has(name)) {
        missing(name);
    }
    return objects(name);
}

std::string_view Fields::requiredString(std::string_view name) {
    return required(name).isMissing() ? std::string_view() : string(name);
}

bson::Document Fields::objectThere(std::string_view name) {
    bson::Element found = element(name);
    if (found.isMissing()) {
        return {};
    }
    if (!found.isObject()) {
        wrongType(found, "type 'object'");
        return {};
    }
    return found.document();
}

bson::Document Fields::array(std::string_view name) {
    bson::Element found = element(name);
    if (found.isMissing()) {
        return {};
    }
    if (!found.isArray()) {
        wrongType(found, "type 'array'");
        return {};
    }
    return found.document();
}

std::vector<bson::Document> Fields::objects(std::string_view name) {
    std::vector<bson::Document> result;
    for (const bson::Element& item : array(name)) {
        if (!item.isObject()) {
            fail(invalid(Reason::kTypeMismatch,
                         quotedField(context_, std::string(name) + "." + std::string(item.name())) +
                             " is the wrong type '" + std::string(bson::typeName(item.type())) +
                             "', expected type 'object'"));
            return {};
        }
        result.push_back(item.document());
    }
    return result;
}

bson::OwnedDocument Fields::hint() {
    bson::Element found = element("hint");
    if (found.isMissing()) {
        return {};
    }
    if (found.isObject()) {
        return bson::OwnedDocument(found.document());
    }
    if (found.isString()) {
        bson::Builder byName;
        byName.add("", found.stringValue());
        return bson::OwnedDocument(byName.finish());
    }
    fail(invalid(Reason::kFailedToParse, "Hint must be a string or an object"));
    return {};
}

void Fields::allowOnly(std::initializer_list<std::string_view> allowed) {
    const bson::Element unknown = index_.findFirstNot([&](const bson::Element& present) {
        return std::find(allowed.begin(), allowed.end(), present.name()) != allowed.end();
    });
    if (!unknown.isMissing()) {
        fail(unknownField(context_, unknown.name()));
    }
}

void Fields::refuse(std::initializer_list<std::string_view> names) {
    for (std::string_view name : names) {
        bson::Element found = element(name);
        if (!found.isMissing() && !isEmptyValue(found)) {
            fail(Status(Code::kUnsupported,
                        quotedField(context_, name) + " is not supported by this server"));
        }
    }
}

void Fields::refuseCollation() {
    bson::Document collation = object("collation");
    bson::Element locale = collation.find("locale");
    const bool isSimple = locale.isString() && locale.stringValue() == "simple";
    if (!collation.isEmpty() && !isSimple) {
        fail(Status(Code::kUnsupported, "Collations other than 'simple' are not supported"));
    }
}

Status checkValidation(Fields* fields) {
    const std::string_view level = fields->string("validationLevel");
    const std::string_view action = fields->string("validationAction");
    FRESHET_RETURN_IF_ERROR(fields->status());
    if (!level.empty() && level != "off" && level != "strict" && level != "moderate") {
        return badValue("Enumeration value '" + std::string(level) +
                        "' for field 'validationLevel' is not a valid value.");
    }
    if (!action.empty() && action != "error" && action != "warn") {
        return badValue("Enumeration value '" + std::string(action) +
                        "' for field 'validationAction' is not a valid value.");
    }
    return Status::ok();
}

}  // namespace freshet::command
