// SPDX-License-Identifier: Apache-2.0
/// Fills new indexes of a collection whose gate is closed, in small logged transactions. The trees
/// are not read until the catalog names them, so a build that stops half-way does no harm.
#pragma once

#include "freshet/catalog/index/index_keys.h"

namespace freshet::catalog {

class IndexBuilder {
public:
    /// REQUIRES: the collection's gate stays closed until run() has ended.
    IndexBuilder(engine::Store& store,
                 CollectionRef collection,
                 std::vector<std::shared_ptr<Index>> indexes);

    /// WouldBlock: wait for token(); also returned between batches to let others run. kExists
    /// (kDuplicateKey) when a unique index gets one key twice. Sets the indexes' multikey flags.
    Status run();
    const sync::WaitToken& token() const { return token_; }

private:
    enum class Step { kFirst, kKeys, kEntries, kNext, kCommit, kDone };
    struct Entry {
        const Index* index;
        std::string key;  // without record id
    };

    Status step();
    Status makeEntries();
    Status writeEntries();
    Status commitBatch();

    engine::Store& store_;
    CollectionRef collection_;
    std::vector<std::shared_ptr<Index>> indexes_;
    engine::Txn txn_;
    engine::Cursor cursor_;
    sync::WaitToken token_;
    Step step_ = Step::kFirst;
    std::vector<Entry> entries_;  // of the document at the cursor
    size_t written_ = 0;          // of entries_
    size_t batched_ = 0;          // documents in the open transaction
    size_t batchedBytes_ = 0;     // of their keys
};

}  // namespace freshet::catalog
