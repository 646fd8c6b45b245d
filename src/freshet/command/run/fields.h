// SPDX-License-Identifier: Apache-2.0
/// Fields: typed reading of a command's fields with the protocol's error texts. The first error is
/// kept and later reads return their fallbacks, so a command reads all its fields and checks once.
/// Null counts as absent. Views point into the body.
#pragma once

#include "freshet/bson/builder.h"

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace freshet::command {

/// A number below 64 for a name. Two names may have the same number; the factor is chosen so that
/// the names which most commands have differ.
constexpr uint8_t nameTag(std::string_view name) {
    const auto first = name.empty() ? 0u : static_cast<unsigned char>(name.front());
    return static_cast<uint8_t>((name.size() * 34 + first) % 64);
}
constexpr uint64_t nameBit(std::string_view name) {
    return uint64_t{1} << nameTag(name);
}
/// The bits of several names.
constexpr uint64_t nameBits(std::initializer_list<std::string_view> names) {
    uint64_t bits = 0;
    for (const std::string_view name : names) {
        bits |= nameBit(name);
    }
    return bits;
}

/// A document that is searched for many names, most of which it does not have: a request's body.
/// Views point into it.
class BodyIndex {
public:
    BodyIndex(bson::Document body);  // NOLINT: implicit by design

    bson::Document body() const { return body_; }
    bool mayHave(std::string_view name) const { return (present_ & nameBit(name)) != 0; }
    bool mayHaveAnyOf(uint64_t bits) const { return (present_ & bits) != 0; }
    /// As body().find().
    bson::Element find(std::string_view name) const {
        return mayHave(name) ? findThere(name, nameTag(name)) : bson::Element();
    }
    /// Calls isGood for each field until it returns false; returns that field, or a missing one.
    template <typename IsGood>
    bson::Element findFirstNot(IsGood isGood) const {
        if (count_ == kIndexed) {
            for (const bson::Element& element : body_) {
                if (!isGood(element)) {
                    return element;
                }
            }
            return {};
        }
        for (size_t i = 0; i < count_; ++i) {
            if (!isGood(elements_[i])) {
                return elements_[i];
            }
        }
        return {};
    }

private:
    static constexpr size_t kIndexed = 16;

    bson::Element findThere(std::string_view name, uint8_t tag) const;

    bson::Document body_;
    bson::Element elements_[kIndexed];  // the first ones
    uint8_t tags_[kIndexed] = {};       // of their names
    size_t count_ = 0;
    uint64_t present_ = 0;  // nameBit() of all fields
};

class Fields {
public:
    /// `context` precedes a field's name in error texts: "find", "update.updates".
    Fields(bson::Document body, std::string_view context)
        : own_(body), index_(*own_), context_(context) {}
    /// For a body that has an index; the index outlives this.
    Fields(const BodyIndex& index, std::string_view context) : index_(index), context_(context) {}
    Fields(const Fields&) = delete;
    Fields& operator=(const Fields&) = delete;

    /// The first error so far.
    const Status& status() const { return status_; }
    void fail(Status status);

    bson::Element element(std::string_view name) const {
        return mayHave(name) ? elementThere(name) : bson::Element();
    }
    bool has(std::string_view name) const { return !element(name).isMissing(); }
    bool boolean(std::string_view name, bool fallback) {
        return mayHave(name) ? booleanThere(name, fallback) : fallback;
    }
    /// For a field that has no fixed default.
    std::optional<bool> maybeBoolean(std::string_view name) {
        return has(name) ? std::optional<bool>(boolean(name, false)) : std::nullopt;
    }
    /// Any number with an integral part in range; smaller than `least` is an error.
    int64_t integer(std::string_view name,
                    int64_t fallback,
                    int64_t least = std::numeric_limits<int64_t>::min()) {
        return mayHave(name) ? integerThere(name, fallback, least) : fallback;
    }
    std::string_view string(std::string_view name);
    /// Empty documents when absent.
    bson::Document object(std::string_view name) {
        return mayHave(name) ? objectThere(name) : bson::Document();
    }
    /// Reads into `*out`, which is unchanged when the field is absent.
    void object(std::string_view name, bson::OwnedDocument* out) {
        if (mayHave(name)) {
            *out = bson::OwnedDocument(objectThere(name));
        }
    }
    bson::Document array(std::string_view name);
    /// The field's value as a string; an error when it is absent or of another type.
    std::string_view requiredString(std::string_view name);
    bson::Element required(std::string_view name);
    /// Errors when it is absent, null or of another type.
    bson::Document requiredObject(std::string_view name);
    std::vector<bson::Document> requiredObjects(std::string_view name);
    /// The objects of an array; an error when an element is not an object.
    std::vector<bson::Document> objects(std::string_view name);
    /// {}, {$natural: 1}, a key pattern, or {"": "name"}: the form that query takes.
    bson::OwnedDocument hint();

    /// An error unless each present field is one of `allowed`.
    void allowOnly(std::initializer_list<std::string_view> allowed);
    /// Options that would change results and are not supported: an error when they are present and
    /// not false, null or empty.
    void refuse(std::initializer_list<std::string_view> names);
    /// As refuse(), except that {locale: "simple"} is supported.
    void refuseCollation();

private:
    void wrongType(const bson::Element& element, std::string_view expected);
    void missing(std::string_view name);
    bool mayHave(std::string_view name) const { return index_.mayHave(name); }
    bson::Element elementThere(std::string_view name) const;
    bool booleanThere(std::string_view name, bool fallback);
    int64_t integerThere(std::string_view name, int64_t fallback, int64_t least);
    bson::Document objectThere(std::string_view name);

    std::optional<BodyIndex> own_;
    const BodyIndex& index_;
    std::string_view context_;
    Status status_;
};

/// An error unless validationLevel and validationAction have values that create and collMod take.
Status checkValidation(Fields* fields);

/// "BSON field 'find.foo' is an unknown field."
Status unknownField(std::string_view context, std::string_view field);

}  // namespace freshet::command
