// SPDX-License-Identifier: Apache-2.0
/// Document::parse: the one place that assumes nothing about its bytes. It walks every element,
/// also nested ones, with an end that no length may cross. kNestingMax bounds the recursion.
#include "freshet/bson/body.h"
#include "freshet/bson/view.h"

namespace freshet::bson {

namespace {

/// What is wrong; null if nothing is.
using Fault = const char*;

constexpr uint32_t kEmptyDocumentBytes = 5;
/// Compared by address: this fault has its own error code.
constexpr const char kTooDeep[] = "BSONObj exceeded maximum nested object depth: ";

/// A half-open range that is consumed from its front.
struct Range {
    const char* at;
    const char* end;
    int nestingMax;
    size_t left() const { return static_cast<size_t>(end - at); }
};

Fault checkDocument(Range& range, int nesting);

Fault skip(Range& range, size_t bytes) {
    if (range.left() < bytes) {
        return "a value is longer than its document";
    }
    range.at += bytes;
    return nullptr;
}

Fault checkCString(Range& range) {
    const void* zero = std::memchr(range.at, 0, range.left());
    if (zero == nullptr) {
        return "a name or pattern does not end";
    }
    range.at = static_cast<const char*>(zero) + 1;
    return nullptr;
}

Fault checkString(Range& range) {
    if (range.left() < 5) {
        return "a string is cut";
    }
    uint32_t length = loadLe<uint32_t>(range.at);
    if (length == 0 || length > range.left() - 4) {
        return "a string has an impossible length";
    }
    if (range.at[4 + length - 1] != 0) {
        return "a string does not end with zero";
    }
    range.at += 4 + size_t{length};
    return nullptr;
}

Fault checkBinary(Range& range) {
    if (range.left() < 5) {
        return "binary data is cut";
    }
    uint32_t length = loadLe<uint32_t>(range.at);
    if (length > range.left() - 5) {
        return "binary data has an impossible length";
    }
    constexpr uint8_t kOldBinary = 2;
    if (static_cast<uint8_t>(range.at[4]) == kOldBinary &&
        (length < 4 || loadLe<uint32_t>(range.at + 5) != length - 4)) {
        return "binary data of subtype 2 has a wrong inner length";
    }
    range.at += 5 + size_t{length};
    return nullptr;
}

Fault checkCodeWithScope(Range& range, int nesting) {
    constexpr uint32_t kSmallest = 4 + 5 + kEmptyDocumentBytes;
    if (range.left() < kSmallest) {
        return "code with scope is cut";
    }
    uint32_t length = loadLe<uint32_t>(range.at);
    if (length < kSmallest || length > range.left()) {
        return "code with scope has an impossible length";
    }
    Range inner{range.at + 4, range.at + length, range.nestingMax};
    if (Fault fault = checkString(inner)) {
        return fault;
    }
    if (Fault fault = checkDocument(inner, nesting + 1)) {
        return fault;
    }
    if (inner.left() != 0) {
        return "code with scope is longer than its parts";
    }
    range.at = inner.end;
    return nullptr;
}

Fault checkBool(Range& range) {
    if (range.left() < 1 || static_cast<uint8_t>(*range.at) > 1) {
        return "a bool is neither 0 nor 1";
    }
    ++range.at;
    return nullptr;
}

/// Consumes one value whose type and name have been consumed.
Fault checkValue(Type type, Range& range, int nesting) {
    switch (type) {
        case Type::kUndefined:
        case Type::kNull:
        case Type::kMinKey:
        case Type::kMaxKey:
            return nullptr;
        case Type::kBool:
            return checkBool(range);
        case Type::kInt32:
            return skip(range, 4);
        case Type::kDouble:
        case Type::kDate:
        case Type::kTimestamp:
        case Type::kInt64:
            return skip(range, 8);
        case Type::kObjectId:
            return skip(range, 12);
        case Type::kDecimal:
            return skip(range, 16);
        case Type::kString:
        case Type::kSymbol:
        case Type::kCode:
            return checkString(range);
        case Type::kBinary:
            return checkBinary(range);
        case Type::kObject:
        case Type::kArray:
            return checkDocument(range, nesting + 1);
        case Type::kCodeWithScope:
            return checkCodeWithScope(range, nesting);
        case Type::kDbPointer: {
            Fault fault = checkString(range);
            return fault != nullptr ? fault : skip(range, 12);
        }
        case Type::kRegex: {
            Fault fault = checkCString(range);
            return fault != nullptr ? fault : checkCString(range);
        }
        case Type::kEnd:
            break;
    }
    return "an element has an unknown type";
}

/// Consumes one document from the front of the range; `nesting` is 1 for the outermost.
Fault checkDocument(Range& range, int nesting) {
    if (nesting > range.nestingMax) {
        return kTooDeep;
    }
    if (range.left() < kEmptyDocumentBytes) {
        return "a document is cut";
    }
    uint32_t length = loadLe<uint32_t>(range.at);
    if (length < kEmptyDocumentBytes || length > range.left() || length > INT32_MAX) {
        return "a document has an impossible length";
    }
    Range inner{range.at + 4, range.at + length - 1, range.nestingMax};
    if (*inner.end != 0) {
        return "a document does not end with zero";
    }
    while (inner.left() != 0) {
        Type type = static_cast<Type>(*inner.at++);
        if (Fault fault = checkCString(inner)) {
            return fault;
        }
        if (Fault fault = checkValue(type, inner, nesting)) {
            return fault;
        }
    }
    range.at += length;
    return nullptr;
}

Status invalidBson(Fault fault) {
    if (fault == kTooDeep) {
        return invalid(Reason::kOverflow, kTooDeep + std::to_string(kNestingMax));
    }
    return invalid(Reason::kInvalidBson, std::string("invalid BSON: ") + fault);
}

StatusOr<Document> parseWithin(ByteView bytes, int nestingMax) {
    Range range{bytes.data(), bytes.data() + bytes.size(), nestingMax};
    if (Fault fault = checkDocument(range, 1)) {
        return invalidBson(fault);
    }
    return Document(bytes.data());
}

}  // namespace

bool nestsWithin(Document document, int levels) {
    if (levels <= 0) {
        return false;
    }
    for (const Element& field : document) {
        if (!nestsWithin(field, levels - 1)) {
            return false;
        }
    }
    return true;
}

bool nestsWithin(const Element& value, int levels) {
    const bool holds = value.isObject() || value.isArray() || value.type() == Type::kCodeWithScope;
    return !holds || nestsWithin(value.document(), levels);
}

Status checkNesting(Document document) {
    return nestsWithin(document, kNestingMax)
               ? Status::ok()
               : invalid(
                     Reason::kOverflow,
                     "Document exceeds maximum nesting depth of " + std::to_string(kNestingMax));
}

StatusOr<Document> Document::parsePrefix(ByteView bytes) {
    return parseWithin(bytes, kNestingMax);
}

StatusOr<Document> parseBodyPrefix(ByteView bytes, int nestingMax) {
    return parseWithin(bytes, nestingMax);
}

StatusOr<Document> Document::parse(ByteView bytes) {
    StatusOr<Document> document = parsePrefix(bytes);
    if (document.isOk() && document->size() != bytes.size()) {
        return invalidBson("bytes follow the document");
    }
    return document;
}

}  // namespace freshet::bson
