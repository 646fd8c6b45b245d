// SPDX-License-Identifier: Apache-2.0
/// The canonical order and the hash that agrees with it. Recursion is as deep as the documents,
/// which the validator bounds.
#include "freshet/bson/compare.h"

#include "freshet/bson/number/number.h"

#include <absl/hash/hash.h>

namespace freshet::bson {

namespace {

/// Whether field names count: they do in objects, but in arrays they are only positions.
enum class Names : uint8_t { kCompared, kIgnored };

int compareFields(Document a, Document b, Names names) {
    auto left = a.begin();
    auto right = b.begin();
    for (; left != a.end() && right != b.end(); ++left, ++right) {
        int order = threeWay(canonicalClass(left->type()), canonicalClass(right->type()));
        if (order == 0 && names == Names::kCompared) {
            order = left->name().compare(right->name());
        }
        if (order == 0) {
            order = compareValues(*left, *right);
        }
        if (order != 0) {
            return order;
        }
    }
    return static_cast<int>(left != a.end()) - static_cast<int>(right != b.end());
}

int compareBinaries(Binary a, Binary b) {
    int order = threeWay(a.bytes.size(), b.bytes.size());
    if (order == 0) {
        order = threeWay(a.subtype, b.subtype);
    }
    return order != 0 ? order : a.bytes.compare(b.bytes);
}

int compareRegexes(RegexView a, RegexView b) {
    int order = a.pattern.compare(b.pattern);
    return order != 0 ? order : a.options.compare(b.options);
}

/// The longer namespace is greater, as in mongod.
int compareDbPointers(const Element& a, const Element& b) {
    int order = threeWay(a.value().size(), b.value().size());
    return order != 0 ? order : a.value().compare(b.value());
}

int compareScopedCodes(const Element& a, const Element& b) {
    int order = a.stringValue().compare(b.stringValue());
    return order != 0 ? order : compareDocuments(a.document(), b.document());
}

uint64_t hashFields(Document document, Names names) {
    uint64_t hash = 0;
    for (const Element& element : document) {
        hash = absl::HashOf(hash, hashValue(element));
        if (names == Names::kCompared) {
            hash = absl::HashOf(hash, element.name());
        }
    }
    return hash;
}

}  // namespace

int canonicalClass(Type type) {
    switch (type) {
        case Type::kMinKey:
            return -1;
        case Type::kEnd:
        case Type::kUndefined:
            return 0;
        case Type::kNull:
            return 5;
        case Type::kDouble:
        case Type::kInt32:
        case Type::kInt64:
        case Type::kDecimal:
            return 10;
        case Type::kString:
        case Type::kSymbol:
            return 15;
        case Type::kObject:
            return 20;
        case Type::kArray:
            return 25;
        case Type::kBinary:
            return 30;
        case Type::kObjectId:
            return 35;
        case Type::kBool:
            return 40;
        case Type::kDate:
            return 45;
        case Type::kTimestamp:
            return 47;
        case Type::kRegex:
            return 50;
        case Type::kDbPointer:
            return 55;
        case Type::kCode:
            return 60;
        case Type::kCodeWithScope:
            return 65;
        case Type::kMaxKey:
            return 127;
    }
    return 0;
}

int compareValues(const Element& a, const Element& b) {
    int order = threeWay(canonicalClass(a.type()), canonicalClass(b.type()));
    if (order != 0) {
        return order;
    }
    switch (a.type()) {
        case Type::kDouble:
        case Type::kInt32:
        case Type::kInt64:
        case Type::kDecimal:
            return compareNumbers(a, b);
        case Type::kString:
        case Type::kSymbol:
        case Type::kCode:
            return a.stringValue().compare(b.stringValue());
        case Type::kObject:
            return compareDocuments(a.document(), b.document());
        case Type::kArray:
            return compareFields(a.document(), b.document(), Names::kIgnored);
        case Type::kBinary:
            return compareBinaries(a.binaryValue(), b.binaryValue());
        case Type::kObjectId:
            return a.objectIdBytes().compare(b.objectIdBytes());
        case Type::kBool:
            return threeWay(a.boolValue(), b.boolValue());
        case Type::kDate:
            return threeWay(a.dateMillis(), b.dateMillis());
        case Type::kTimestamp:
            return threeWay(a.timestampValue(), b.timestampValue());
        case Type::kRegex:
            return compareRegexes(a.regexValue(), b.regexValue());
        case Type::kDbPointer:
            return compareDbPointers(a, b);
        case Type::kCodeWithScope:
            return compareScopedCodes(a, b);
        case Type::kEnd:
        case Type::kUndefined:
        case Type::kNull:
        case Type::kMinKey:
        case Type::kMaxKey:
            return 0;
    }
    return 0;
}

int compareDocuments(Document a, Document b) {
    return compareFields(a, b, Names::kCompared);
}

uint64_t hashValue(const Element& element) {
    int valueClass = canonicalClass(element.type());
    switch (element.type()) {
        case Type::kDouble:
        case Type::kInt32:
        case Type::kInt64:
        case Type::kDecimal:
            return hashNumber(element);
        case Type::kString:
        case Type::kSymbol:
            return absl::HashOf(valueClass, element.stringValue());
        case Type::kObject:
            return absl::HashOf(valueClass, hashFields(element.document(), Names::kCompared));
        case Type::kArray:
            return absl::HashOf(valueClass, hashFields(element.document(), Names::kIgnored));
        case Type::kCodeWithScope:
            return absl::HashOf(valueClass,
                                element.stringValue(),
                                hashFields(element.document(), Names::kCompared));
        case Type::kEnd:
            return absl::HashOf(valueClass, ByteView());
        default:
            // Equal values of these types have equal bytes.
            return absl::HashOf(valueClass, element.value());
    }
}

}  // namespace freshet::bson
