// SPDX-License-Identifier: Apache-2.0
/// Services: what all connections of one Dispatcher share. Any thread.
#pragma once

#include "freshet/command/dispatcher.h"
#include "freshet/command/registry.h"
#include "freshet/command/run/cursors.h"
#include "freshet/sync/atomic.h"

#include <array>

namespace freshet::command {

/// Limits that hello announces.
inline constexpr size_t kWriteBatchMax = 100'000;
inline constexpr int32_t kSessionTimeoutMinutes = 30;

/// opcounters of serverStatus, kept in stripes so that reactors do not share a line.
class OpCounters {
public:
    void add(uint64_t connectionId, OpKind kind, uint64_t count = 1);
    /// Sums may lag behind operations in progress.
    uint64_t total(OpKind kind) const;

private:
    static constexpr size_t kStripes = 16;
    static constexpr size_t kKinds = 6;
    /// Operations counted. Written by: connections of the stripe, on any reactor. Read by: total().
    ///   INV-1    a cell only rises
    struct alignas(sync::kLineBytes) Stripe {
        std::array<sync::Atomic<uint64_t>, kKinds> cells{};
    };
    std::array<Stripe, kStripes> stripes_;
};

struct Services {
    Services(catalog::Catalog& theCatalog, ServerFacts theFacts)
        : catalog(theCatalog), facts(std::move(theFacts)) {}

    catalog::Catalog& catalog;
    engine::Store& store{catalog.store()};
    const ServerFacts facts;
    const Registry registry;
    CursorRegistry cursors;
    OpCounters counters;
    /// Names this run of the server in topologyVersion: a client that sees it change knows of the
    /// restart.
    const bson::ObjectId processId = bson::ObjectId::generate();

    /// Set once by beginShutdown(). Written by: the thread that ends the server. Read by: all
    /// commands, at their start and at each wait.
    ///   STEPS    false -> true, once
    sync::Atomic<bool> isShuttingDown{false};
};

}  // namespace freshet::command
