// SPDX-License-Identifier: Apache-2.0
#include "freshet/query/expression/value.h"

#include <algorithm>

namespace freshet::query {

using bson::Element;
using bson::Type;

Value Value::of(std::string_view text) {
    std::string value;
    value.reserve(text.size() + 5);
    appendLe(value, static_cast<uint32_t>(text.size() + 1));
    value.append(text).push_back(0);
    return owned(Type::kString, value);
}

Value Value::null() {
    Value result;
    result.small_[0] = static_cast<char>(Type::kNull);
    result.small_[1] = 0;
    result.element_ = Element(result.small_);
    result.isSmall_ = true;
    return result;
}

Value Value::ofInteger(int64_t value) {
    return value >= INT32_MIN && value <= INT32_MAX ? of(static_cast<int32_t>(value)) : of(value);
}

Value Value::owned(Type type, std::string_view value) {
    auto bytes = std::make_shared<std::string>();
    bytes->reserve(value.size() + 2);
    bytes->push_back(static_cast<char>(type));
    bytes->push_back(0);
    bytes->append(value);
    Value result;
    result.element_ = Element(bytes->data());
    result.owner_ = std::move(bytes);
    return result;
}

bool Value::isNullish() const {
    return element_.isMissing() || element_.isNull() || element_.type() == Type::kUndefined;
}

Value Value::own() const {
    if (isSmall_ || owner_ || isMissing()) {
        return *this;
    }
    return owned(type(), element_.value());
}

Value Value::part(const Element& element) const {
    Value result(element);
    if (isSmall_) {
        return result.own();
    }
    result.owner_ = owner_;
    return result;
}

int nestingOf(const Element& element) {
    if (!element.isObject() && !element.isArray() && element.type() != Type::kCodeWithScope) {
        return 0;
    }
    int deepest = 0;
    for (const Element& child : element.document()) {
        deepest = std::max(deepest, nestingOf(child));
    }
    return deepest + 1;
}

}  // namespace freshet::query
