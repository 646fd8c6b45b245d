// SPDX-License-Identifier: Apache-2.0
/// The catalog's internals: the published map of names, and the lock that serialises definition
/// changes.
#pragma once

#include "freshet/catalog/names/name_map.h"
#include "freshet/sync/mutex.h"

#include "absl/container/flat_hash_map.h"

#include <functional>
#include <vector>

namespace freshet::catalog {

/// kExists (kDatabaseDifferCase) when `db` would be a new database whose name differs from an
/// existing one only in the case of letters.
Status checkDatabaseCase(const NameMap& names, std::string_view db);

/// Held across suspensions by one definition change at a time. A waiter that gives up simply does
/// not ask again: release() wakes all, so a wake-up is never lost with an abandoned waiter.
class ChangeLock {
public:
    Status acquire(sync::WaitToken* token);
    void release();

private:
    sync::Mutex mutex_;
    bool held_ = false;                     // guarded by mutex_
    std::vector<sync::WaitToken> waiting_;  // guarded by mutex_; one for each refused acquire()
};

class LastRecords;

class CatalogCore {
public:
    CatalogCore(engine::Store& s, PredicateCompiler c);

    /// Reads the catalog tree. Blocks.
    Status readAll();
    CollectionRef find(std::string_view db, std::string_view collection);
    std::shared_ptr<const NameMap> names() const;
    /// Publishes a changed copy of the map. REQUIRES: changeLock held, or at open.
    void publish(const std::function<void(NameMap*)>& edit);

    uint64_t version() const;

    /// A snapshot that sees everything that has been committed.
    uint64_t snapshotNow();
    /// Around the commit of a definition change and its publication: in between, snapshots may see
    /// the commit while find() still gives the names of before. REQUIRES: changeLock held.
    void beginPublication();
    void endPublication();
    /// Whether a snapshot may be newer than the names that find() gives. To be asked before find().
    bool mayBeAhead(uint64_t readTs) const;
    /// A name was removed; snapshots from `since` on agree. To be called before publish().
    void noteRemoval(uint64_t since);
    /// As noted last; 0: since open().
    uint64_t lastRemoval() const;

    engine::Store& store;
    const PredicateCompiler compiler;  // may be empty
    ChangeLock changeLock;

private:
    /// One thread's copy of what it has looked up. Its references have control blocks of their own,
    /// so copying one does not write to a cache line that other threads use.
    struct Cache {
        uint64_t version = 0;
        std::shared_ptr<const NameMap> names;
        absl::flat_hash_map<std::string, CollectionRef> seen;
    };
    Cache& cacheOfThread();
    Status readCollection(ByteView key, ByteView value, LastRecords* lastRecords, NameMap* map);

    mutable sync::Mutex mutex_;
    std::shared_ptr<const NameMap> current_;  // guarded by mutex_

    /// How often the map was replaced. Written by: publish(), under mutex_. Read by: find().
    ///   WORD     version:64
    ///   STEPS    rises by one
    sync::Atomic<uint64_t> version_{1};

    /// Snapshots from this one on agree that the name removed last is gone. Written by: the change
    /// lock's holder, before it publishes. Read by: findAsOf().
    ///   WORD     timestamp:64
    ///   STEPS    rises
    ///   ORDER    relaxed both ways: publish() and find() carry the edge, so a thread that does not
    ///            find the name sees its timestamp
    sync::Atomic<uint64_t> lastRemoval_{0};

    /// The first snapshot that may see a definition change that is not published yet; 0: there is
    /// no such change. Written by: the change lock's holder. Read by: findAsOf(), before find().
    ///   WORD     timestamp:64
    ///   STEPS    0 -> timestamp before the commit, back to 0 after publish()
    ///   ORDER    release by [names.begin], [names.end]; acquire by [names.ahead]. A snapshot that
    ///            sees the commit was taken after [names.begin], by the clock's edge, so its owner
    ///            reads that timestamp, or the 0 of [names.end] and with it the published names
    sync::Atomic<uint64_t> unpublished_{0};

    /// By participant index: each cell belongs to one thread. A thread that takes over an index was
    /// registered after the previous thread's end; the epoch domain orders the two.
    std::vector<std::unique_ptr<Cache>> caches_;
};

}  // namespace freshet::catalog
