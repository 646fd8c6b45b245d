// SPDX-License-Identifier: Apache-2.0
/// What change streams and the oplog say of an event with the same words. Pure; any thread.
#pragma once

#include "freshet/bson/builder.h"
#include "freshet/command/stream/committed_event.h"

#include <string_view>

namespace freshet::command {

/// REQUIRES: it has one.
bson::Binary uuidOf(const catalog::Event& event);

/// {_id: ...} of the document that an event is about.
bson::OwnedDocument documentKeyOf(const CommittedEvent& committed);

/// The session of `CommittedEvent::transaction`, {id, uid}. That of a client without a login has
/// the digest of an empty name.
bson::OwnedDocument sessionOf(bson::Document transaction);

/// Adds {<options>, idIndex} of a kCreate.
void addCreated(const catalog::Event& event, bson::Builder* out);

/// Adds what a kModify has changed, as collMod takes it: {<options>, index: {name,
/// expireAfterSeconds, hidden}}.
void addModified(const catalog::Event& event, bson::Builder* out);

/// Adds {<optionsName>: {uuid, <options>}, <indexName>: {expireAfterSeconds, hidden}}: how what a
/// kModify has changed was before.
void addBeforeModified(const catalog::Event& event,
                       std::string_view optionsName,
                       std::string_view indexName,
                       bson::Builder* out);

}  // namespace freshet::command
