// SPDX-License-Identifier: Apache-2.0
/// What a diff of the oplog says, done to a document. A diff may be applied to a document that
/// later changes have reached already: what it does not find is passed over, or null until one of
/// those is applied again.
#include "freshet/command/stream/document_diff.h"

#include <absl/container/flat_hash_map.h>

#include <charconv>
#include <string>

namespace freshet::command {
namespace {

/// How far an index may lie behind the end of an array.
constexpr uint32_t kPaddingMax = 1'500'000;

Status badDiff(std::string text) {
    return invalid(Reason::kFailedToParse, "The diff of an oplog entry: " + std::move(text));
}

bool isArrayDiff(bson::Document diff) {
    return !diff.isEmpty() && diff.begin()->name() == "a";
}

Status applyToObject(bson::Document before, bson::Document diff, bson::Builder* out);
Status applyToArray(bson::Document before, bson::Document diff, bson::Builder* out);

/// Adds `before` (missing: there is none) with a nested diff applied.
Status applyInside(const bson::Element& before,
                   std::string_view name,
                   bson::Document diff,
                   bson::Builder* out) {
    if (before.isObject() && !isArrayDiff(diff)) {
        bson::Builder inner = out->object(name);
        return applyToObject(before.document(), diff, &inner);
    }
    if (before.isArray() && isArrayDiff(diff)) {
        bson::Builder inner = out->array(name);
        return applyToArray(before.document(), diff, &inner);
    }
    out->add(name, bson::Null());
    return Status::ok();
}

/// What is done to the fields of an object.
class FieldChanges {
public:
    enum class Kind : uint8_t { kNone, kRemove, kUpdate, kInsert, kInside };
    struct Change {
        Kind kind = Kind::kNone;
        bson::Element element;
        bool isDone = false;
    };

    Status read(bson::Document diff) {
        for (const bson::Element& section : diff) {
            FRESHET_RETURN_IF_ERROR(readSection(section));
        }
        return Status::ok();
    }
    /// Null: the field stays as it is.
    Change* find(std::string_view name) {
        const auto found = byName_.find(name);
        return found == byName_.end() ? nullptr : &changes_[found->second];
    }
    const std::vector<Change>& all() const { return changes_; }

private:
    Status readSection(const bson::Element& section) {
        if (!section.isObject()) {
            return badDiff("the section " + std::string(section.name()) + " is no object");
        }
        if (section.name().starts_with('s')) {
            return add(section.name().substr(1), Kind::kInside, section);
        }
        const Kind kind = section.name() == "d"   ? Kind::kRemove
                          : section.name() == "u" ? Kind::kUpdate
                          : section.name() == "i" ? Kind::kInsert
                                                  : Kind::kNone;
        if (kind == Kind::kNone) {
            return badDiff("unexpected section " + std::string(section.name()));
        }
        for (const bson::Element& field : section.document()) {
            FRESHET_RETURN_IF_ERROR(add(field.name(), kind, field));
        }
        return Status::ok();
    }
    Status add(std::string_view name, Kind kind, const bson::Element& element) {
        if (!byName_.emplace(name, changes_.size()).second) {
            return badDiff("the field " + std::string(name) + " changes twice");
        }
        changes_.push_back({kind, element});
        return Status::ok();
    }

    std::vector<Change> changes_;  // in the order of the diff
    absl::flat_hash_map<std::string_view, size_t> byName_;
};

Status applyToObject(bson::Document before, bson::Document diff, bson::Builder* out) {
    using Kind = FieldChanges::Kind;
    FieldChanges changes;
    FRESHET_RETURN_IF_ERROR(changes.read(diff));
    for (const bson::Element& old : before) {
        FieldChanges::Change* const change = changes.find(old.name());
        if (change == nullptr) {
            out->add(old);
        } else if (change->kind == Kind::kInside) {
            FRESHET_RETURN_IF_ERROR(applyInside(old, old.name(), change->element.document(), out));
        } else if (change->kind == Kind::kUpdate) {
            out->add(change->element);
            change->isDone = true;
        }
    }
    for (const FieldChanges::Change& change : changes.all()) {
        const bool isValue = change.kind == Kind::kUpdate || change.kind == Kind::kInsert;
        if (isValue && !change.isDone) {
            out->add(change.element);
        }
    }
    return Status::ok();
}

/// The changes of an array's elements, in ascending order.
class ElementChanges {
public:
    Status open(bson::Document diff) {
        end_ = diff.end();
        at_ = diff.begin();
        ++at_;  // the mark of an array
        if (at_ != end_ && at_->name() == "l") {
            if (at_->type() != bson::Type::kInt32 || at_->int32Value() < 0) {
                return badDiff("an array's size is no number");
            }
            newSize_ = at_->int32Value();
            ++at_;
        }
        return readIndex();
    }
    bool isOver() const { return at_ == end_; }
    uint32_t index() const { return index_; }
    int64_t newSize() const { return newSize_; }  // -1: it stays

    /// Adds the element that the change at index() makes of `before` (missing: there is none).
    Status apply(const bson::Element& before, bson::Builder* out) {
        if (at_->name()[0] == 'u') {
            out->pushElement(*at_);
        } else {
            FRESHET_RETURN_IF_ERROR(applyInside(before, out->nextIndex(), at_->document(), out));
        }
        ++at_;
        return readIndex();
    }

private:
    Status readIndex() {
        if (isOver()) {
            return Status::ok();
        }
        const std::string_view name = at_->name();
        const bool isChange =
            name.size() > 1 && (name[0] == 'u' || (name[0] == 's' && at_->isObject()));
        uint32_t index = 0;
        const auto read = isChange
                              ? std::from_chars(name.data() + 1, name.data() + name.size(), index)
                              : std::from_chars_result{name.data(), std::errc()};
        if (!isChange || read.ec != std::errc() || read.ptr != name.data() + name.size() ||
            (isStarted_ && index <= index_)) {
            return badDiff("unexpected element " + std::string(name));
        }
        index_ = index;
        isStarted_ = true;
        return Status::ok();
    }

    bson::Document::Iterator at_ = bson::Document().begin();
    bson::Document::Iterator end_ = bson::Document().end();
    int64_t newSize_ = -1;
    uint32_t index_ = 0;
    bool isStarted_ = false;
};

Status applyToArray(bson::Document before, bson::Document diff, bson::Builder* out) {
    ElementChanges changes;
    FRESHET_RETURN_IF_ERROR(changes.open(diff));
    const int64_t newSize = changes.newSize();
    uint32_t index = 0;
    uint32_t padding = 0;
    auto old = before.begin();
    while (newSize < 0 || index < newSize) {
        const bool hasOld = old != before.end();
        if (!hasOld && changes.isOver() && newSize < 0) {
            break;
        }
        if (!changes.isOver() && changes.index() == index) {
            FRESHET_RETURN_IF_ERROR(changes.apply(hasOld ? *old : bson::Element(), out));
        } else if (hasOld) {
            out->pushElement(*old);
        } else if (++padding > kPaddingMax) {
            return badDiff("an index is too far behind the end of an array");
        } else {
            out->push(bson::Null());
        }
        if (hasOld) {
            ++old;
        }
        ++index;
    }
    return changes.isOver() ? Status::ok() : badDiff("an index is behind the end of an array");
}

}  // namespace

StatusOr<bson::OwnedDocument> applyDiff(bson::Document before, bson::Document diff) {
    bson::Builder out;
    FRESHET_RETURN_IF_ERROR(applyToObject(before, diff, &out));
    return bson::OwnedDocument(out.finish());
}

}  // namespace freshet::command
