// SPDX-License-Identifier: Apache-2.0
/// Builds BSON into a std::string. Not thread-safe.
///
///   Builder b;  b.add("ok", 1.0);
///   { auto sub = b.object("cursor"); sub.add("id", int64_t{0}); }   // closed by its destructor
///   std::string bytes = b.finish();
#pragma once

#include "freshet/bson/view.h"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace freshet::bson {

struct ObjectId {
    char bytes[12] = {};
    /// Four bytes of wall seconds, five random per process, three counting. Any thread.
    static ObjectId generate();
    std::string toHex() const;
};
struct Date {
    int64_t millis = 0;
};
struct Timestamp {
    uint64_t value = 0;  // seconds << 32 | counter
};
struct Null {};
struct Undefined {};
struct MinKey {};
struct MaxKey {};
struct Regex {
    std::string_view pattern;
    std::string_view options;
};

class Builder {
public:
    /// A document of its own.
    Builder() : Builder(&own_) {}
    /// A document appended to `out` (for messages: existing bytes stay).
    explicit Builder(std::string* out);
    /// Closes an open sub-document, or a document appended to `out`; abandons a document of its
    /// own.
    ~Builder();
    Builder(const Builder&) = delete;
    Builder& operator=(const Builder&) = delete;

    Builder& add(std::string_view name, double value);
    Builder& add(std::string_view name, int32_t value);
    Builder& add(std::string_view name, int64_t value);
    Builder& add(std::string_view name, bool value);
    Builder& add(std::string_view name, std::string_view value);
    Builder& add(std::string_view name, const char* value) {
        return add(name, std::string_view(value));
    }
    Builder& add(std::string_view name, const std::string& value) {
        return add(name, std::string_view(value));
    }
    Builder& add(std::string_view name, ObjectId value);
    Builder& add(std::string_view name, Date value);
    Builder& add(std::string_view name, Timestamp value);
    Builder& add(std::string_view name, Null);
    Builder& add(std::string_view name, Undefined);
    Builder& add(std::string_view name, MinKey);
    Builder& add(std::string_view name, MaxKey);
    Builder& add(std::string_view name, Decimal128 value);
    Builder& add(std::string_view name, Regex value);
    Builder& add(std::string_view name, Binary value);
    Builder& add(std::string_view name, Document value);       // as an object
    Builder& addArray(std::string_view name, Document value);  // bytes of an array, as an array
    Builder& addCode(std::string_view name, std::string_view value);
    /// The element's value under another name. REQUIRES: not missing.
    Builder& addAs(std::string_view name, const Element& element);
    /// The element with its own name.
    Builder& add(const Element& element);
    /// All of the document's fields.
    Builder& addFields(Document document);
    /// Type byte, name and raw value bytes.
    Builder& addRaw(std::string_view name, Type type, ByteView value);

    /// An open sub-document; close it (destructor or close()) before adding to this one again.
    Builder object(std::string_view name) { return Builder(this, name, Type::kObject); }
    Builder array(std::string_view name) { return Builder(this, name, Type::kArray); }
    /// For an array builder: the next index as a name ("0", "1", ...).
    std::string_view nextIndex();
    template <typename T>
    Builder& push(const T& value) {
        return add(nextIndex(), value);
    }
    Builder& pushElement(const Element& element) { return addAs(nextIndex(), element); }

    /// Ends a document appended to a string. `bytesLeftOut`: further bytes that belong to it but
    /// are not here. Nothing may be added afterwards.
    void close(size_t bytesLeftOut = 0);
    /// Ends the document and returns its bytes. REQUIRES: made with Builder().
    std::string finish();
    /// Makes room for that many further bytes.
    void reserve(size_t bytes) {
        if (out_->capacity() - out_->size() < bytes) {
            out_->reserve(out_->size() + bytes);
        }
    }
    /// Bytes so far of this document only.
    size_t size() const { return out_->size() - start_; }
    /// The offset of the next byte in the string that it appends to.
    size_t endsAt() const { return out_->size(); }
    /// How many bytes the string takes without more memory.
    size_t roomLeft() const { return out_->capacity() - out_->size(); }

private:
    Builder(Builder* parent, std::string_view name, Type type);
    char* header(std::string_view name, Type type, size_t valueBytes);

    std::string own_;
    std::string* out_;
    size_t start_;
    uint32_t index_ = 0;
    char indexText_[12];
    bool open_ = true;
};

/// An owned document: bytes and a view of them.
class OwnedDocument {
public:
    /// The empty document; its bytes need no memory of their own.
    OwnedDocument() : bytes_("\5\0\0\0\0", 5) {}
    explicit OwnedDocument(std::string bytes) : bytes_(std::move(bytes)) {}
    explicit OwnedDocument(Document document) : bytes_(document.bytes()) {}
    Document view() const { return Document(bytes_.data()); }
    const std::string& bytes() const { return bytes_; }

private:
    std::string bytes_;
};

/// A document that its copies share, for large ones that several parts keep. Any thread.
class SharedDocument {
public:
    SharedDocument() = default;
    SharedDocument(OwnedDocument document)  // NOLINT: wherever one of its own is given
        : document_(std::make_shared<const OwnedDocument>(std::move(document))) {}
    Document view() const { return document_ == nullptr ? Document() : document_->view(); }

private:
    std::shared_ptr<const OwnedDocument> document_;  // null: the empty one
};

/// Bytes of all documents together, and of the list.
uint64_t bytesOf(const std::vector<OwnedDocument>& documents);

}  // namespace freshet::bson
