// SPDX-License-Identifier: Apache-2.0
#include "freshet/command/stream/event_key.h"

#include "freshet/bson/keyform.h"
#include "freshet/command/stream/change_document.h"
#include "freshet/command/stream/event_fields.h"

#include <algorithm>
#include <iterator>

namespace freshet::command {
namespace {

using catalog::EventKind;

constexpr std::string_view kOfDocument = "fullDocument.";
constexpr std::string_view kId = "documentKey._id";

bool isKeyPath(std::string_view path) {
    constexpr std::string_view kOthers[] = {"operationType", "ns.db", "ns.coll", kId};
    return path.starts_with(kOfDocument) ||
           std::find(std::begin(kOthers), std::end(kOthers), path) != std::end(kOthers);
}

/// Values that are equal only to those of the same key form, and of which a filter means nothing
/// else than the value.
bool isKeyValue(const bson::Element& value) {
    switch (value.type()) {
        case bson::Type::kString:
        case bson::Type::kInt32:
        case bson::Type::kInt64:
        case bson::Type::kObjectId:
        case bson::Type::kBool:
        case bson::Type::kDate:
        case bson::Type::kBinary:
            return true;
        default:
            return false;
    }
}

std::string formOf(const bson::Element& value) {
    std::string form;
    bson::appendKeyForm(value, false, &form, nullptr);
    return form;
}

ValueAtKey valueOf(std::string_view text) {
    bson::Builder holder;
    holder.add("", text);
    return {ValueAtKey::Kind::kValue, formOf(*bson::OwnedDocument(holder.finish()).view().begin())};
}

/// The value itself, however deep; an array has several.
ValueAtKey valueIn(bson::Document document, std::string_view path) {
    for (;;) {
        const size_t dot = path.find('.');
        const bson::Element field = document.find(path.substr(0, dot));
        if (field.isMissing()) {
            return {};
        }
        if (field.isArray()) {
            return {ValueAtKey::Kind::kUnknown};
        }
        if (dot == path.npos) {
            return {ValueAtKey::Kind::kValue, formOf(field)};
        }
        if (!field.isObject()) {
            return {};
        }
        document = field.document();
        path.remove_prefix(dot + 1);
    }
}

}  // namespace

std::optional<EventKey> eventKeyOf(bson::Document stage) {
    const bson::Element match = stage.find("$match");
    if (!match.isObject()) {
        return std::nullopt;
    }
    for (const bson::Element& field : match.document()) {
        bson::Element value = field;
        if (field.isObject() && field.document().fieldCount() == 1 &&
            field.document().begin()->name() == "$eq") {
            value = *field.document().begin();
        }
        if (isKeyPath(field.name()) && isKeyValue(value)) {
            return EventKey{std::string(field.name()), formOf(value)};
        }
    }
    return std::nullopt;
}

ValueAtKey valueAtKey(const CommittedEvent& committed, std::string_view path) {
    const catalog::Event& event = committed.event;
    if (!catalog::isOfDocument(event.kind)) {
        return {ValueAtKey::Kind::kUnknown};
    }
    if (path == "operationType") {
        return valueOf(operationTypeOf(event.kind));
    }
    if (path == "ns.db" || path == "ns.coll") {
        return valueOf(path == "ns.db" ? event.db : event.collection);
    }
    if (path == kId) {
        return valueIn(documentKeyOf(committed).view(), "_id");
    }
    if (event.kind == EventKind::kUpdate) {
        return {ValueAtKey::Kind::kOfLookup};
    }
    return event.kind == EventKind::kDelete
               ? ValueAtKey()
               : valueIn(committed.after, path.substr(kOfDocument.size()));
}

}  // namespace freshet::command
