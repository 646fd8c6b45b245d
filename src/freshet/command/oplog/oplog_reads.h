// SPDX-License-Identifier: Apache-2.0
/// local.oplog.rs: what commands read there. It is no collection: a read of it reads the log, and
/// sees everything that was acknowledged before it. Its order is that of ts, in which it can be
/// read in both directions; the bounds of ts in a filter say where reading begins and ends.
#pragma once

#include "freshet/command/oplog/oplog_source.h"
#include "freshet/command/run/invocation.h"
#include "freshet/query/cursor.h"

#include <memory>
#include <string_view>

namespace freshet::command {

inline constexpr std::string_view kOplogDb = "local";
inline constexpr std::string_view kOplogCollection = "oplog.rs";

/// Only a replica set's member has an oplog.
bool isOplog(const Services& services, std::string_view db, std::string_view collection);

/// The times of entries that can match the filter.
OplogRange rangeOf(bson::Document filter);

/// A cursor for a find, over what can be read now. `follows`: it goes on with entries to come.
/// kUnsupported: it is to read in another order.
StatusOr<std::unique_ptr<query::QueryCursor>> makeOplogFind(Invocation& call,
                                                            query::FindRequest request,
                                                            bool follows);
/// The same, when everything acknowledged can be read.
sync::Task<StatusOr<std::unique_ptr<query::QueryCursor>>> findInOplog(Invocation& call,
                                                                      query::FindRequest request,
                                                                      bool follows);

/// How many entries a count counts.
sync::Task<StatusOr<int64_t>> countInOplog(Invocation& call, query::FindRequest request);

/// What a pipeline reads, as its first stage and the hint need it.
sync::Task<StatusOr<std::unique_ptr<query::TailSource>>> readOplogFor(Invocation& call,
                                                                      bson::Document pipeline,
                                                                      bson::Document hint);

/// Adds {capped, size, maxSize ...}, as collStats tells of it. How many entries there are is not
/// known without reading all of them.
void addOplogStats(const Services& services, int64_t scale, bson::Builder* out);

/// An element of listCollections.
bson::OwnedDocument describeOplog(const Services& services, bool nameOnly);

}  // namespace freshet::command
