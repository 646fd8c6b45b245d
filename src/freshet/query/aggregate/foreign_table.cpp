// SPDX-License-Identifier: Apache-2.0
#include "freshet/query/aggregate/foreign_table.h"

#include "freshet/bson/compare.h"

#include <algorithm>

namespace freshet::query {

using bson::Document;
using bson::Element;

namespace {

/// Null, undefined and missing are one key.
uint64_t keyOf(const Element& value) {
    return Value(value).isNullish() ? 0 : bson::hashValue(value);
}

}  // namespace

bool ForeignTable::add(Document document) {
    bytes_ += document.size() + sizeof(std::string);
    if (bytes_ > kBytesMax) {
        return false;
    }
    const auto index = static_cast<uint32_t>(documents_.size());
    documents_.emplace_back(document.bytes());
    addKeys(Document(documents_.back()).find(path_[0]), 1, index);
    return true;
}

void ForeignTable::addKeys(const Element& at, size_t depth, uint32_t document) {
    if (depth == path_.size()) {
        addKey(at, document);
        if (at.isArray()) {
            for (const Element& member : at.document()) {
                addKey(member, document);
            }
        }
        return;
    }
    if (at.isObject()) {
        addKeys(at.document().find(path_[depth]), depth + 1, document);
        return;
    }
    addKey(Element(), document);
    if (!at.isArray()) {
        return;
    }
    for (const Element& member : at.document()) {
        if (member.isObject()) {
            addKeys(member.document().find(path_[depth]), depth + 1, document);
        }
    }
    if (const Element member = at.document().find(path_[depth]); !member.isMissing()) {
        addKeys(member, depth + 1, document);  // a.0.b
    }
}

void ForeignTable::addKey(const Element& value, uint32_t document) {
    std::vector<uint32_t>& found = byHash_[keyOf(value)];
    if (found.empty() || found.back() != document) {
        found.push_back(document);
        bytes_ += sizeof(uint32_t);
    }
}

std::vector<Document> ForeignTable::candidates(const std::vector<Value>& values) const {
    std::vector<uint32_t> found;
    for (const Value& value : values) {
        if (const auto at = byHash_.find(keyOf(value.element())); at != byHash_.end()) {
            found.insert(found.end(), at->second.begin(), at->second.end());
        }
    }
    std::sort(found.begin(), found.end());
    found.erase(std::unique(found.begin(), found.end()), found.end());
    std::vector<Document> result;
    result.reserve(found.size());
    for (const uint32_t document : found) {
        result.emplace_back(documents_[document].data());
    }
    return result;
}

}  // namespace freshet::query
