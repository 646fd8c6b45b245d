// SPDX-License-Identifier: Apache-2.0
/// The live parts of collections and indexes: words that change while the descriptions are
/// immutable, shared by all descriptions of one collection or index.
#pragma once

#include "freshet/catalog/catalog.h"
#include "freshet/catalog/gate.h"

namespace freshet::catalog {

struct IndexState {
    /// Some document may have an array along the paths. Written by: document writers before their
    /// commit, open(), index builds. Read by: planners after they took their snapshot.
    ///   WORD     | multikey:1 |
    ///   STEPS    0 -> 1, never back
    ///   INV-catalog-3  a commit with array entries is preceded by the store of 1, so a snapshot
    ///                  that contains such a commit was taken after the store
    ///   ORDER    relaxed store and load: the commit's clock step (release) and the snapshot's load
    ///            of the clock (acquire) carry the edge; a reader that asks later sees at least it
    sync::Atomic<uint32_t> multikey{0};

    /// The flag is in a committed catalog record. Written by: writers that have read such a record
    /// through their snapshot, open(), index builds. Read by: document writers.
    ///   WORD     | recorded:1 |
    ///   STEPS    0 -> 1, never back
    ///   ORDER    relaxed both ways: it only avoids reading the record, which is authoritative
    sync::Atomic<uint32_t> multikeyRecorded{0};

    /// The index is dropped. Written by: the definition change, before it opens the gate. Read by:
    /// readers after they took their snapshot.
    ///   WORD     | dropped:1 |
    ///   STEPS    0 -> 1, never back
    ///   ORDER    release by [index.drop], acquire by isDropped(). A reader that still gets 0
    ///            asked before the gate opened, so no commit in its snapshot has left out the index
    sync::Atomic<uint32_t> dropped{0};
};

struct CollectionState {
    Gate gate;

    /// The next record id to give. Written by: document writers. Set at open().
    ///   WORD     next:64
    ///   STEPS    rises; ids of aborted transactions are lost
    ///   ORDER    relaxed: only uniqueness matters, the id's document is published by its commit
    sync::Atomic<RecordId> nextRecordId{1};

    engine::TreeRef catalogTree;
    /// Made in a transaction that has not committed: the catalog has no record of it. Belongs to
    /// that transaction; false once others can find the collection.
    bool isPending = false;
    /// The current description. Guarded by `gate`: written by the change that has it alone, read
    /// inside it.
    std::weak_ptr<const Collection> current;
    uint64_t currentRevision = 0;
};

/// Makes `collection` the description that writers must use. REQUIRES: the gate alone, or a
/// collection that no other thread knows. `since`: a snapshot taken after the commit of the
/// definition.
inline void makeCurrent(const std::shared_ptr<Collection>& collection, uint64_t since) {
    CollectionState& state = *collection->state;
    collection->revision = ++state.currentRevision;
    collection->since = since;
    state.current = collection;
}

}  // namespace freshet::catalog
