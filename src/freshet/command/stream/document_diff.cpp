// SPDX-License-Identifier: Apache-2.0
#include "freshet/command/stream/document_diff.h"

#include <absl/container/flat_hash_set.h>

#include <algorithm>
#include <string>

namespace freshet::command {
namespace {

// What the parts of a diff take in the oplog; it need not be exact.
constexpr uint64_t kObjectBytes = 5;
constexpr uint64_t kArrayBytes = 9;  // with its mark
constexpr uint64_t kNewSizeBytes = 7;
constexpr uint64_t kSectionBytes = 8;
constexpr uint64_t kEntryBytes = 2;  // beside name and value
constexpr uint64_t kPrefixBytes = 1;

bool areSameValues(const bson::Element& a, const bson::Element& b) {
    return a.type() == b.type() && a.value() == b.value();
}

bool isNested(const bson::Element& element) {
    return element.isObject() || element.isArray();
}

std::string indexName(char prefix, uint32_t index) {
    return prefix + std::to_string(index);
}

}  // namespace

DocumentDiff::DocumentDiff(bson::Document before, bson::Document after, Detail detail)
    : detail_(detail), nodes_(1) {
    compareObjects(0, before, after);
}

DocumentDiff::Size DocumentDiff::compareObjects(uint32_t node,
                                                bson::Document before,
                                                bson::Document after) {
    Size size{kObjectBytes, 0};
    const auto add = [&size](const Size& more) {
        size.bytes += more.bytes;
        size.changes += more.changes;
    };
    std::vector<bson::Element> gone;
    std::vector<bson::Element> come;
    auto old = before.begin();
    auto now = after.begin();
    bool hasUpdates = false;
    while (old != before.end() && now != after.end()) {
        if (old->name() != now->name()) {
            gone.push_back(*old);
            ++old;
            continue;
        }
        if (!areSameValues(*old, *now)) {
            add(compareValues(node, *old, {.element = *now}));
            hasUpdates =
                hasUpdates || nodes_[node].changes.back().kind == DiffChange::Kind::kUpdate;
        }
        ++old;
        ++now;
    }
    for (; old != before.end(); ++old) {
        gone.push_back(*old);
    }
    for (; now != after.end(); ++now) {
        come.push_back(*now);
    }
    size.bytes += hasUpdates ? kSectionBytes : 0;
    add(addAll(node, DiffChange::Kind::kRemove, gone, come));
    add(addAll(node, DiffChange::Kind::kInsert, come, {}));
    return size;
}

/// Adds a change for each of the elements, unless `except` has its name.
DocumentDiff::Size DocumentDiff::addAll(uint32_t node,
                                        DiffChange::Kind kind,
                                        const std::vector<bson::Element>& elements,
                                        const std::vector<bson::Element>& except) {
    Size size;
    absl::flat_hash_set<std::string_view> names;
    if (!elements.empty()) {
        for (const bson::Element& element : except) {
            names.insert(element.name());
        }
    }
    for (const bson::Element& element : elements) {
        if (!names.contains(element.name())) {
            nodes_[node].changes.push_back({.kind = kind, .element = element});
            size.bytes += kEntryBytes + element.name().size() +
                          (kind == DiffChange::Kind::kRemove ? 1 : element.value().size());
            ++size.changes;
        }
    }
    size.bytes += size.changes > 0 ? kSectionBytes : 0;
    return size;
}

DocumentDiff::Size DocumentDiff::compareArrays(uint32_t node,
                                               bson::Document before,
                                               bson::Document after) {
    Size size{kArrayBytes, 0};
    auto old = before.begin();
    auto now = after.begin();
    uint32_t index = 0;
    for (; now != after.end(); ++now, ++index) {
        const bool isNew = old == before.end();
        if (isNew || !areSameValues(*old, *now)) {
            const Size more = compareValues(
                node, isNew ? bson::Element() : *old, {.element = *now, .index = index});
            size.bytes += more.bytes;
            size.changes += more.changes;
        }
        if (!isNew) {
            ++old;
        }
    }
    if (old != before.end()) {
        nodes_[node].newSize = static_cast<int32_t>(index);
        size.bytes += kNewSizeBytes;
        ++size.changes;
    }
    return size;
}

/// Adds the change of one value, and its node if it has one.
DocumentDiff::Size DocumentDiff::compareValues(uint32_t node,
                                               const bson::Element& before,
                                               DiffChange change) {
    const bson::Element& after = change.element;
    const bool isInArray = nodes_[node].isArray;
    const uint64_t nameBytes =
        kEntryBytes + (isInArray ? indexName('u', change.index).size() : after.name().size());
    if (detail_ == Detail::kNested && before.type() == after.type() && isNested(after)) {
        change.kind = DiffChange::Kind::kInside;
        change.node = static_cast<uint32_t>(nodes_.size());
        nodes_.emplace_back().isArray = after.isArray();
        Size size = after.isArray()
                        ? compareArrays(change.node, before.document(), after.document())
                        : compareObjects(change.node, before.document(), after.document());
        const bool isSmall =
            !after.isArray() || size.bytes < after.value().size() || size.changes == 1;
        // Without changes: only the names of an array's elements differ.
        if (isSmall && size.changes > 0) {
            size.bytes += nameBytes + (isInArray ? 0 : kPrefixBytes);
            nodes_[node].changes.push_back(change);
            return size;
        }
        nodes_.resize(change.node);
        change.kind = DiffChange::Kind::kUpdate;
        change.node = 0;
    }
    nodes_[node].changes.push_back(change);
    return {nameBytes + after.value().size(), 1};
}

void DocumentDiff::writeTo(bson::Builder* out) const {
    writeObject(root(), out);
}

void DocumentDiff::writeNode(uint32_t number, bson::Builder* out) const {
    const DiffNode& inner = node(number);
    if (inner.isArray) {
        writeArray(inner, out);
    } else {
        writeObject(inner, out);
    }
}

void DocumentDiff::writeObject(const DiffNode& node, bson::Builder* out) const {
    const auto section = [&](std::string_view name, DiffChange::Kind kind) {
        const auto isOfKind = [kind](const DiffChange& change) { return change.kind == kind; };
        if (std::none_of(node.changes.begin(), node.changes.end(), isOfKind)) {
            return;
        }
        bson::Builder fields = out->object(name);
        for (const DiffChange& change : node.changes) {
            if (isOfKind(change) && kind == DiffChange::Kind::kRemove) {
                fields.add(change.element.name(), false);
            } else if (isOfKind(change)) {
                fields.add(change.element);
            }
        }
    };
    section("d", DiffChange::Kind::kRemove);
    section("u", DiffChange::Kind::kUpdate);
    section("i", DiffChange::Kind::kInsert);
    for (const DiffChange& change : node.changes) {
        if (change.kind == DiffChange::Kind::kInside) {
            bson::Builder inner = out->object("s" + std::string(change.element.name()));
            writeNode(change.node, &inner);
        }
    }
}

void DocumentDiff::writeArray(const DiffNode& node, bson::Builder* out) const {
    out->add("a", true);
    if (node.newSize >= 0) {
        out->add("l", node.newSize);
    }
    for (const DiffChange& change : node.changes) {
        if (change.kind == DiffChange::Kind::kInside) {
            bson::Builder inner = out->object(indexName('s', change.index));
            writeNode(change.node, &inner);
        } else {
            out->addAs(indexName('u', change.index), change.element);
        }
    }
}

}  // namespace freshet::command
