// SPDX-License-Identifier: Apache-2.0
/// What passes between C++ and JavaScript: a BSON value, or nothing (undefined).
#pragma once

#include "freshet/bson/builder.h"

#include <utility>

namespace freshet::script {

class Value {
public:
    /// Undefined.
    Value() = default;
    /// The first field of `holder` is the value, whatever its name.
    explicit Value(bson::OwnedDocument holder) : holder_(std::move(holder)) {}
    /// From anything that a Builder can add.
    template <typename T>
    static Value of(const T& value) {
        return Value(bson::OwnedDocument(bson::Builder().add("", value).finish()));
    }
    static Value ofElement(const bson::Element& element) {
        return Value(bson::OwnedDocument(bson::Builder().addAs("", element).finish()));
    }

    bool isUndefined() const { return holder_.view().isEmpty(); }
    /// Missing if the value is undefined.
    bson::Element element() const {
        return isUndefined() ? bson::Element() : *holder_.view().begin();
    }

private:
    bson::OwnedDocument holder_;
};

}  // namespace freshet::script
