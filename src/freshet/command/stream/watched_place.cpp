// SPDX-License-Identifier: Apache-2.0
#include "freshet/command/stream/watched_place.h"

#include "freshet/command/admin/own_names.h"
#include "freshet/command/stream/change_document.h"

#include <utility>

namespace freshet::command {

using catalog::EventKind;

WatchedPlace targetOf(const catalog::Event& rename) {
    const bson::Document to = rename.document.find("to").document();
    return {std::string(to.find("db").stringValue()), std::string(to.find("coll").stringValue())};
}

Watch::Watch(WatchedPlace place, const ChangeOptions& options, std::optional<EventKey> key)
    : place_(std::move(place)),
      key_(std::move(key)),
      looksUp_(options.fullDocument != FullDocument::kDefault),
      showsExpanded_(options.showExpandedEvents),
      showsSystem_(options.showSystemEvents) {}

bool Watch::shows(const catalog::Event& event) const {
    return !operationTypeOf(event.kind).empty() &&
           (showsExpanded_ || !isExpandedEvent(event.kind)) &&
           (concerns(event) || isRenameTo(event));
}

bool Watch::endsWith(const catalog::Event& event) const {
    if (place_.isCollection()) {
        return event.kind == EventKind::kDrop || event.kind == EventKind::kRename;
    }
    return place_.isDatabase() && event.kind == EventKind::kDropDatabase;
}

bool Watch::concerns(const catalog::Event& event) const {
    if (place_.isCollection()) {
        return event.db == place_.db && event.collection == place_.collection;
    }
    const bool isInside = place_.isDatabase() ? event.db == place_.db : !isOwnDatabase(event.db);
    return isInside && (showsSystem_ || !event.collection.starts_with("system."));
}

bool Watch::isRenameTo(const catalog::Event& event) const {
    if (event.kind != EventKind::kRename || !place_.isCollection()) {
        return false;
    }
    const WatchedPlace to = targetOf(event);
    return to.db == place_.db && to.collection == place_.collection;
}

}  // namespace freshet::command
