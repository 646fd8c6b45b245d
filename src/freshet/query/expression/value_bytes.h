// SPDX-License-Identifier: Apache-2.0
/// Values one after another in a string, as groups write them to disk. A value is written as an
/// element without a name, a missing one as a zero byte.
#pragma once

#include "freshet/base/assert.h"
#include "freshet/query/expression/value.h"

#include <string>
#include <string_view>

namespace freshet::query {

inline void appendValue(const Value& value, std::string* out) {
    out->push_back(static_cast<char>(value.type()));
    if (!value.isMissing()) {
        out->push_back('\0');
        out->append(value.element().value());
    }
}

/// REQUIRES: bytes that appendValue() made; the caller has verified that they are intact.
class ValueReader {
public:
    explicit ValueReader(std::string_view bytes) : rest_(bytes) {}
    bool isAtEnd() const { return rest_.empty(); }
    /// REQUIRES: not at the end. Borrows.
    Value next() {
        dcheck(!rest_.empty());
        if (rest_.front() == '\0') {
            rest_.remove_prefix(1);
            return {};
        }
        const bson::Element element(rest_.data());
        rest_.remove_prefix(element.whole().size());
        return Value(element);
    }
    std::string_view rest() const { return rest_; }
    int64_t nextInteger() { return next().element().int64Value(); }
    double nextDouble() { return next().element().doubleValue(); }

private:
    std::string_view rest_;
};

}  // namespace freshet::query
