// SPDX-License-Identifier: Apache-2.0
#include "freshet/query/aggregate/nested_field.h"

namespace freshet::query {
namespace {

using bson::Builder;
using bson::Document;
using bson::Element;

void writeFrom(Document document,
               const std::vector<std::string>& path,
               size_t at,
               const Element& value,
               Builder* out) {
    const bool last = at + 1 == path.size();
    bool found = false;
    const auto writeHere = [&](const Element& existing) {
        found = true;
        if (last) {
            if (!value.isMissing()) {
                out->addAs(path[at], value);
            }
            return;
        }
        Builder object = out->object(path[at]);
        writeFrom(
            existing.isObject() ? existing.document() : Document(), path, at + 1, value, &object);
    };
    for (const Element& field : document) {
        if (!found && field.name() == path[at]) {
            writeHere(field);
        } else {
            out->add(field);
        }
    }
    if (!found && !value.isMissing()) {
        writeHere(Element());
    }
}

}  // namespace

Element nestedField(Document document, const std::vector<std::string>& path) {
    Element at = document.find(path[0]);
    for (size_t i = 1; i < path.size(); ++i) {
        if (!at.isObject()) {
            return {};
        }
        at = at.document().find(path[i]);
    }
    return at;
}

void writeReplaced(Document document,
                   const std::vector<std::string>& path,
                   const Element& value,
                   Builder* out) {
    writeFrom(document, path, 0, value, out);
}

}  // namespace freshet::query
