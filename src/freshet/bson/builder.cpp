// SPDX-License-Identifier: Apache-2.0
/// Writing BSON. A document's length (four bytes) is filled in when it is closed. Names and regexes
/// end at their first zero byte: the bytes are well formed, whatever text a caller passes.
#include "freshet/bson/builder.h"

#include "freshet/base/assert.h"

#include <bson/bson.h>

#include <charconv>

namespace freshet::bson {

namespace {

std::string_view untilZero(std::string_view text) {
    return text.substr(0, text.find('\0'));
}

void appendCString(std::string& out, std::string_view text) {
    out.append(untilZero(text));
    out.push_back('\0');
}

/// Values of so many bytes are given the room that they need, and what follows them a little.
constexpr size_t kLargeBytes = 1u << 20;
constexpr size_t kRoomBehindLarge = 4096;

/// A string doubles its capacity when it grows: a document of 16 MB would take twice its memory for
/// the few bytes behind its largest value.
void appendValue(std::string& out, std::string_view bytes) {
    if (bytes.size() >= kLargeBytes) {
        out.reserve(out.size() + bytes.size() + kRoomBehindLarge);
    }
    out.append(bytes);
}

void appendString(std::string& out, std::string_view text) {
    appendLe<uint32_t>(out, static_cast<uint32_t>(text.size() + 1));
    appendValue(out, text);
    out.push_back('\0');
}

}  // namespace

ObjectId ObjectId::generate() {
    bson_oid_t oid;
    bson_oid_init(&oid, nullptr);
    ObjectId result;
    std::memcpy(result.bytes, oid.bytes, sizeof result.bytes);
    return result;
}

Builder::Builder(std::string* out) : out_(out), start_(out->size()) {
    out_->append(4, '\0');
}

Builder::Builder(Builder* parent, std::string_view name, Type type) : out_(parent->out_) {
    parent->header(name, type, 0);
    start_ = out_->size();
    out_->append(4, '\0');
}

Builder::~Builder() {
    if (open_ && out_ != &own_) {
        close();
    }
}

char* Builder::header(std::string_view name, Type type, size_t valueBytes) {
    dcheck(open_);
    name = untilZero(name);
    const size_t at = out_->size();
    out_->append(2 + name.size() + valueBytes, '\0');
    char* element = out_->data() + at;
    *element = static_cast<char>(type);
    std::memcpy(element + 1, name.data(), name.size());
    return element + 2 + name.size();
}

Builder& Builder::add(std::string_view name, double value) {
    storeLe(header(name, Type::kDouble, 8), value);
    return *this;
}

Builder& Builder::add(std::string_view name, int32_t value) {
    storeLe(header(name, Type::kInt32, 4), value);
    return *this;
}

Builder& Builder::add(std::string_view name, int64_t value) {
    storeLe(header(name, Type::kInt64, 8), value);
    return *this;
}

Builder& Builder::add(std::string_view name, bool value) {
    *header(name, Type::kBool, 1) = value ? 1 : 0;
    return *this;
}

Builder& Builder::add(std::string_view name, std::string_view value) {
    header(name, Type::kString, 0);
    appendString(*out_, value);
    return *this;
}

Builder& Builder::addCode(std::string_view name, std::string_view value) {
    header(name, Type::kCode, 0);
    appendString(*out_, value);
    return *this;
}

Builder& Builder::add(std::string_view name, ObjectId value) {
    std::memcpy(header(name, Type::kObjectId, sizeof value.bytes), value.bytes, sizeof value.bytes);
    return *this;
}

Builder& Builder::add(std::string_view name, Date value) {
    storeLe(header(name, Type::kDate, 8), value.millis);
    return *this;
}

Builder& Builder::add(std::string_view name, Timestamp value) {
    storeLe(header(name, Type::kTimestamp, 8), value.value);
    return *this;
}

Builder& Builder::add(std::string_view name, Null) {
    header(name, Type::kNull, 0);
    return *this;
}

Builder& Builder::add(std::string_view name, Undefined) {
    header(name, Type::kUndefined, 0);
    return *this;
}

Builder& Builder::add(std::string_view name, MinKey) {
    header(name, Type::kMinKey, 0);
    return *this;
}

Builder& Builder::add(std::string_view name, MaxKey) {
    header(name, Type::kMaxKey, 0);
    return *this;
}

Builder& Builder::add(std::string_view name, Decimal128 value) {
    char* at = header(name, Type::kDecimal, 16);
    storeLe(at, value.low);
    storeLe(at + 8, value.high);
    return *this;
}

Builder& Builder::add(std::string_view name, Regex value) {
    header(name, Type::kRegex, 0);
    appendCString(*out_, value.pattern);
    appendCString(*out_, value.options);
    return *this;
}

Builder& Builder::add(std::string_view name, Binary value) {
    char* at = header(name, Type::kBinary, 5);
    storeLe(at, static_cast<uint32_t>(value.bytes.size()));
    at[4] = static_cast<char>(value.subtype);
    appendValue(*out_, value.bytes);
    return *this;
}

Builder& Builder::add(std::string_view name, Document value) {
    return addRaw(name, Type::kObject, value.bytes());
}

Builder& Builder::addArray(std::string_view name, Document value) {
    return addRaw(name, Type::kArray, value.bytes());
}

Builder& Builder::addAs(std::string_view name, const Element& element) {
    return addRaw(name, element.type(), element.value());
}

Builder& Builder::add(const Element& element) {
    dcheck(open_);
    appendValue(*out_, element.whole());
    return *this;
}

Builder& Builder::addFields(Document document) {
    dcheck(open_);
    appendValue(*out_, document.bytes().substr(4, document.size() - 5));
    return *this;
}

Builder& Builder::addRaw(std::string_view name, Type type, ByteView value) {
    header(name, type, 0);
    appendValue(*out_, value);
    return *this;
}

std::string_view Builder::nextIndex() {
    auto end = std::to_chars(indexText_, indexText_ + sizeof indexText_, index_++).ptr;
    return {indexText_, static_cast<size_t>(end - indexText_)};
}

void Builder::close(size_t bytesLeftOut) {
    invariant(open_);
    open_ = false;
    out_->push_back('\0');
    storeLe(out_->data() + start_, static_cast<uint32_t>(size() + bytesLeftOut));
}

std::string Builder::finish() {
    invariant(out_ == &own_);
    close();
    return std::move(own_);
}

uint64_t bytesOf(const std::vector<OwnedDocument>& documents) {
    uint64_t bytes = documents.capacity() * sizeof(OwnedDocument);
    for (const OwnedDocument& document : documents) {
        bytes += document.bytes().capacity();
    }
    return bytes;
}

}  // namespace freshet::bson
