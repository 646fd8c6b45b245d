// SPDX-License-Identifier: Apache-2.0
#include "freshet/command/stream/event_fields.h"

#include "freshet/base/assert.h"
#include "freshet/security/scram.h"

namespace freshet::command {
namespace {

constexpr uint8_t kUuidBinary = 4;
constexpr uint8_t kGeneralBinary = 0;

/// An index of a kModify; empty if it has changed none.
bson::Document firstOf(const catalog::Event& event, std::string_view indexes) {
    const bson::Element list = event.document.find(indexes);
    const bool hasOne = list.isArray() && !list.document().isEmpty();
    return hasOne ? list.document().begin()->document() : bson::Document();
}

bool isHidden(bson::Document specification) {
    return specification.find("hidden").isTruthy();
}

bool areSame(const bson::Element& a, const bson::Element& b) {
    return a.type() == b.type() && (a.isMissing() || a.value() == b.value());
}

/// The options that collMod changes of an index, where `of` and `other` differ.
void addIndexOptions(bson::Document of, bson::Document other, bson::Builder* out) {
    const bson::Element seconds = of.find("expireAfterSeconds");
    if (seconds.isNumber() && !areSame(seconds, other.find("expireAfterSeconds"))) {
        out->add("expireAfterSeconds", seconds.toInt64());
    }
    if (isHidden(of) != isHidden(other)) {
        out->add("hidden", isHidden(of));
    }
}

}  // namespace

bson::Binary uuidOf(const catalog::Event& event) {
    dcheck(!event.uuid.empty());
    return {kUuidBinary, event.uuid};
}

bson::OwnedDocument documentKeyOf(const CommittedEvent& committed) {
    const bool isGone = committed.event.kind == catalog::EventKind::kDelete;
    const bson::Document document = isGone ? committed.event.document : committed.after;
    bson::Builder key;
    if (const bson::Element id = document.find("_id")) {
        key.add(id);
    }
    return bson::OwnedDocument(key.finish());
}

bson::OwnedDocument sessionOf(bson::Document transaction) {
    const bson::Document session = transaction.find("lsid").document();
    bson::Builder out;
    out.addFields(session);
    if (!session.has("uid")) {
        out.add("uid", bson::Binary{kGeneralBinary, security::sha256({})});
    }
    return bson::OwnedDocument(out.finish());
}

void addCreated(const catalog::Event& event, bson::Builder* out) {
    out->addFields(event.document.find("options").document());
    out->add(event.document.find("idIndex"));
}

void addModified(const catalog::Event& event, bson::Builder* out) {
    const bson::Document now = event.document.find("options").document();
    const bson::Document before = event.document.find("optionsBefore").document();
    for (const bson::Element& option : now) {
        if (!areSame(option, before.find(option.name()))) {
            out->add(option);
        }
    }
    for (const bson::Element& option : before) {
        if (!now.has(option.name())) {
            out->add(option.name(), bson::Document());  // an empty validator is none
        }
    }
    const bson::Document index = firstOf(event, "indexes");
    if (!index.isEmpty()) {
        bson::Builder changes = out->object("index");
        changes.add(index.find("name"));
        addIndexOptions(index, firstOf(event, "indexesBefore"), &changes);
    }
}

void addBeforeModified(const catalog::Event& event,
                       std::string_view optionsName,
                       std::string_view indexName,
                       bson::Builder* out) {
    {
        bson::Builder options = out->object(optionsName);
        options.add("uuid", uuidOf(event));
        options.addFields(event.document.find("optionsBefore").document());
    }
    const bson::Document index = firstOf(event, "indexesBefore");
    if (!index.isEmpty()) {
        bson::Builder changes = out->object(indexName);
        addIndexOptions(index, firstOf(event, "indexes"), &changes);
    }
}

}  // namespace freshet::command
