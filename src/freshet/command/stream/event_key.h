// SPDX-License-Identifier: Apache-2.0
/// EventKey: a condition of a stream's first $match that says which one value a field has. Many
/// streams that differ in that value need one look into a table for an event, not one each.
#pragma once

#include "freshet/command/stream/committed_event.h"

#include <optional>
#include <string>
#include <string_view>

namespace freshet::command {

struct EventKey {
    std::string path;   // of the event: "operationType", "documentKey._id", "fullDocument.a.b"
    std::string value;  // its key form
};

/// The first such condition of {$match: ...}; none if the stage is another one or has no such
/// condition.
std::optional<EventKey> eventKeyOf(bson::Document stage);

/// What an event has at a key's path.
struct ValueAtKey {
    enum class Kind : uint8_t {
        kValue,     // `value`
        kNone,      // no value: no key is fulfilled
        kOfLookup,  // no value, but if the stream looks the document up perhaps any
        kUnknown,   // perhaps any
    };
    Kind kind = Kind::kNone;
    std::string value{};
};

ValueAtKey valueAtKey(const CommittedEvent& committed, std::string_view path);

}  // namespace freshet::command
