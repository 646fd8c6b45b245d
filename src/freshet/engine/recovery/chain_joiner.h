// SPDX-License-Identifier: Apache-2.0
/// Collects the records of chains during replay: a transaction that is a chain of records counts
/// when its last record is there (decision 0055).
#pragma once

#include "freshet/base/bytes.h"
#include "freshet/base/status.h"
#include "freshet/engine/commit_reader.h"

#include <map>
#include <string>
#include <vector>

namespace freshet::engine {

class ChainJoiner {
public:
    /// `redoLsn`: where replay begins. A chain that began before it is complete and in images, or
    /// was given up: the records of it that replay meets count for nothing.
    explicit ChainJoiner(journal::Lsn redoLsn) : redoLsn_(redoLsn) {}

    /// Takes a copy of the record, unless it is the last of its chain. True if it is: `earlier`
    /// gets the bodies before it, in order. kCorruption: a record before this one is missing.
    StatusOr<bool> add(journal::Lsn lsn,
                       const CommitChain& chain,
                       ByteView body,
                       std::vector<std::string>* earlier);
    /// How many chains lack their last record.
    size_t open() const { return chains_.size(); }

private:
    const journal::Lsn redoLsn_;
    std::map<journal::Lsn, std::vector<std::string>> chains_;  // by the first record's LSN
};

}  // namespace freshet::engine
