// SPDX-License-Identifier: Apache-2.0
/// Fields: typed reading of a command's fields with the protocol's error texts. The first error
/// sticks and later reads give their fallbacks, so a command reads all its fields and asks once.
/// Null counts as absent. Views point into the body.
#pragma once

#include "freshet/bson/builder.h"

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace freshet::command {

class Fields {
public:
    /// `context` is what error texts put before a field's name: "find", "update.updates".
    Fields(bson::Document body, std::string_view context);

    /// The first error so far.
    const Status& status() const { return status_; }
    void fail(Status status);

    bson::Element element(std::string_view name) const;
    bool has(std::string_view name) const { return !element(name).isMissing(); }
    bool boolean(std::string_view name, bool fallback);
    /// Any number with an integral part in range; smaller than `least` is an error.
    int64_t integer(std::string_view name,
                    int64_t fallback,
                    int64_t least = std::numeric_limits<int64_t>::min());
    std::string_view string(std::string_view name);
    /// Empty documents when absent.
    bson::Document object(std::string_view name);
    bson::Document array(std::string_view name);
    /// The value of the field as a string, an error when it is none or absent.
    std::string_view requiredString(std::string_view name);
    bson::Element required(std::string_view name);
    /// The objects of an array, an error when an element is no object.
    std::vector<bson::Document> objects(std::string_view name);
    /// {}, {$natural: 1}, a key pattern, or {"": "name"}: the form that query takes.
    bson::OwnedDocument hint();

    /// Errors unless each present field is one of `allowed`.
    void allowOnly(const std::vector<std::string_view>& allowed);
    /// Options that change results and are not served yet: an error when they are present and not
    /// false, null or empty.
    void refuse(std::initializer_list<std::string_view> names);
    /// As refuse, but {locale: "simple"} is what we do.
    void refuseCollation();

private:
    static constexpr size_t kIndexed = 16;

    void wrongType(const bson::Element& element, std::string_view expected);
    /// As body_.find(). A command asks for many fields that few bodies have.
    bson::Element find(std::string_view name) const;

    bson::Document body_;
    std::string_view context_;
    Status status_;
    bson::Element indexed_[kIndexed];  // the body's first fields
    size_t indexedCount_ = 0;
    bool isWholeIndexed_ = true;
    uint64_t lengths_ = 0;  // bit n: an indexed field's name has n bytes (63: or more)
};

/// Errors unless validationLevel and validationAction have values that create and collMod take.
Status checkValidation(Fields* fields);

/// "BSON field 'find.foo' is an unknown field."
Status unknownField(std::string_view context, std::string_view field);

}  // namespace freshet::command
