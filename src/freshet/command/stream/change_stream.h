// SPDX-License-Identifier: Apache-2.0
/// The source of a change stream: events of the log that concern a collection, a database or the
/// whole server, as documents for clients.
#pragma once

#include "freshet/command/stream/change_options.h"
#include "freshet/query/tail.h"

#include <memory>
#include <string>

namespace freshet::command {

/// What a stream watches. An empty collection: the whole database; an empty database as well:
/// everything.
struct WatchedPlace {
    std::string db;
    std::string collection;

    bool isCollection() const { return !collection.empty(); }
    bool isDatabase() const { return collection.empty() && !db.empty(); }
};

/// Begins where the options say, else with what is committed from now on. kInvalid
/// (kChangeStreamHistoryLost) when the log no longer has, or never had, that place; perhaps only
/// next() says so. The catalog must outlive the source.
StatusOr<std::unique_ptr<query::TailSource>> openChangeStream(catalog::Catalog& catalog,
                                                              WatchedPlace place,
                                                              ChangeOptions options);

}  // namespace freshet::command
