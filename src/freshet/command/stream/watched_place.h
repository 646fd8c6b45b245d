// SPDX-License-Identifier: Apache-2.0
/// What a change stream watches, and which events that concerns.
#pragma once

#include "freshet/catalog/event.h"
#include "freshet/command/stream/change_options.h"
#include "freshet/command/stream/event_key.h"

#include <optional>
#include <string>

namespace freshet::command {

/// An empty collection: the whole database; an empty database as well: everything.
struct WatchedPlace {
    std::string db;
    std::string collection;

    bool isCollection() const { return !collection.empty(); }
    bool isDatabase() const { return collection.empty() && !db.empty(); }
};

/// The namespace to which a rename's event moves the collection.
WatchedPlace targetOf(const catalog::Event& rename);

/// A stream's place against an event's. Immutable.
class Watch {
public:
    /// `key`: what the stream's pipeline leaves nothing of but these.
    Watch(WatchedPlace place, const ChangeOptions& options, std::optional<EventKey> key = {});
    const WatchedPlace& place() const { return place_; }
    const std::optional<EventKey>& key() const { return key_; }
    /// Updates are shown with the document as it is now, or was then.
    bool looksUp() const { return looksUp_; }
    bool shows(const catalog::Event& event) const;
    /// The stream ends with this event, which it shows.
    bool endsWith(const catalog::Event& event) const;

private:
    bool concerns(const catalog::Event& event) const;
    bool isRenameTo(const catalog::Event& event) const;

    const WatchedPlace place_;
    const std::optional<EventKey> key_;
    const bool looksUp_;
    const bool showsExpanded_;
    const bool showsSystem_;
};

}  // namespace freshet::command
