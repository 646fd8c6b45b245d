// SPDX-License-Identifier: Apache-2.0
/// Finds fields in a document, and in the documents inside it, any number of times. A large
/// document that is searched often gets an index, so it is not walked through each time. One
/// thread.
#pragma once

#include "freshet/bson/field_index.h"

#include <memory>
#include <unordered_map>

namespace freshet::query {

class FieldFinder {
public:
    /// REQUIRES: the document's bytes have not changed since the last forget().
    bson::Element find(bson::Document document, std::string_view name) {
        return document.size() < kLargeBytes ? document.find(name) : findInLarge(document, name);
    }
    /// Follows dots as Document::findPath() does.
    bson::Element findPath(bson::Document document, std::string_view dotted) {
        for (;;) {
            const size_t dot = dotted.find('.');
            const bson::Element field = find(document, dotted.substr(0, dot));
            if (dot == dotted.npos || field.isMissing()) {
                return field;
            }
            if (!field.isArray() && !field.isObject()) {
                return {};
            }
            document = field.document();
            dotted.remove_prefix(dot + 1);
        }
    }
    /// To be called before other documents are searched.
    void forget() {
        if (!large_.empty()) {
            large_.clear();
        }
    }

private:
    static constexpr size_t kLargeBytes = 2048;
    static constexpr int kWalksMax = 8;  // an index costs about as much as so many walks

    struct Large {
        int walks = 0;
        std::unique_ptr<bson::FieldIndex> index;
    };

    bson::Element findInLarge(bson::Document document, std::string_view name) {
        Large& large = large_[document.data()];
        if (large.index != nullptr) {
            return large.index->find(name);
        }
        if (++large.walks > kWalksMax) {
            large.index = std::make_unique<bson::FieldIndex>(document);
        }
        return document.find(name);
    }

    std::unordered_map<const char*, Large> large_;
};

/// The document that is being examined, and the positions of its fields meanwhile.
class RootDocument {
public:
    RootDocument() = default;
    RootDocument& operator=(bson::Document document) {
        document_ = document;
        fields_.forget();
        return *this;
    }
    operator bson::Document() const { return document_; }  // NOLINT: it is one
    ByteView bytes() const { return document_.bytes(); }
    bson::Element find(std::string_view name) { return fields_.find(document_, name); }
    /// REQUIRES: `inside` is part of this document.
    bson::Element find(bson::Document inside, std::string_view name) {
        return fields_.find(inside, name);
    }

private:
    bson::Document document_;
    FieldFinder fields_;
};

}  // namespace freshet::query
