// SPDX-License-Identifier: Apache-2.0
/// Services: what all connections of one Dispatcher share. Any thread.
#pragma once

#include "freshet/command/access/users.h"
#include "freshet/command/diag/concern_defaults.h"
#include "freshet/command/diag/member_state.h"
#include "freshet/command/dispatcher.h"
#include "freshet/command/registry.h"
#include "freshet/command/retry/record_storer.h"
#include "freshet/command/retry/session_turns.h"
#include "freshet/command/run/cursors.h"
#include "freshet/command/run/operations.h"
#include "freshet/command/run/parameters.h"
#include "freshet/command/run/profiler.h"
#include "freshet/command/run/script_threads.h"
#include "freshet/command/run/sessions.h"
#include "freshet/command/run/statistics.h"
#include "freshet/command/run/wakeable_sleep.h"
#include "freshet/command/run/write_block.h"
#include "freshet/command/txn/transactions.h"
#include "freshet/query/spill.h"
#include "freshet/sync/alarms.h"
#include "freshet/sync/atomic.h"
#include "freshet/sync/background_threads.h"
#include "freshet/sync/worker.h"

#include <array>
#include <memory>

namespace freshet::command {

class ChangeHub;

/// Limits that hello announces.
inline constexpr size_t kWriteBatchMax = 100'000;

/// opcounters of serverStatus, kept in stripes so that reactors do not share a cache line.
class OpCounters {
public:
    void add(OpKind kind, uint64_t count = 1);
    /// Sums may lag behind operations in progress.
    uint64_t total(OpKind kind) const;

private:
    static constexpr size_t kKinds = 6;
    /// The counts of operations, added to by StripePlace::bump().
    struct alignas(sync::kLineBytes) Stripe {
        std::array<sync::Atomic<uint64_t>, kKinds> cells{};
    };
    std::array<Stripe, StripePlace::kCount> stripes_;
};

struct Services {
    Services(catalog::Catalog& theCatalog, ServerFacts theFacts);
    ~Services();

    catalog::Catalog& catalog;
    engine::Store& store{catalog.store()};
    const ServerFacts facts;
    const Registry registry;
    /// Null: nothing is counted.
    sync::MemoryPool* const memory{facts.memory.get()};
    const Command& findCommand{*registry.find("find")};
    ParameterValues parameters;
    query::SpillSpace spill;                   // outlives the cursors
    const std::unique_ptr<ChangeHub> changes;  // as well
    ScriptThreads scripts{parameters, memory, facts.javaScriptEnabled};
    sync::BackgroundThreads background;
    Transactions transactions{memory};
    CursorRegistry cursors{memory};
    Users users;
    LogicalSessions sessions{LogicalSessions::maxFor(memory == nullptr ? 0 : memory->bytesMax())};
    SessionTurns sessionTurns;
    const std::shared_ptr<SessionRecords> records;  // of statements and transactions
    Operations operations;
    WriteBlock writeBlock;
    MemberState member;
    ConcernDefaults concerns;
    Profiler profiler{facts.profileLevel};
    OpCounters counters;
    Statistics statistics{registry.commands().size()};
    sync::Alarms alarms;
    WakeableSleep housekeeping{alarms};  // the housekeeper's thread sleeps here
    sync::Worker worker{"worker"};       // hashes passwords
    /// Identifies this run of the server in topologyVersion: a client that sees it change knows
    /// that the server was restarted.
    const bson::ObjectId processId = bson::ObjectId::generate();

    int32_t sessionTimeoutMinutes() const {
        return static_cast<int32_t>(ParameterValues::get(parameters.sessionTimeoutMinutes));
    }
    /// In the form that $currentOp and currentOp show.
    std::vector<bson::OwnedDocument> currentOperations(const ShowOperations& show) const;
    /// Forgets expired sessions and ends their cursors.
    void expireSessions();
    /// Call it after values of parameters have changed: wakes the threads whose sleep depends on
    /// them.
    void parametersChanged();
    /// Passes on for how long snapshots of the past are to be readable. `always`: also before the
    /// first one is asked for.
    void keepHistory(bool always);
    /// A command's index in the registry's list.
    size_t indexOf(const Command& command) const {
        return static_cast<size_t>(&command - registry.commands().data());
    }

    /// Set once by beginShutdown(). Written by: the thread that ends the server. Read by: all
    /// commands, at their start and at each wait.
    ///   STEPS    false -> true, once
    sync::Atomic<bool> isShuttingDown{false};

    RecordStorer recordStorer{catalog, *records};  // the last: it uses the store until its end
};

}  // namespace freshet::command
