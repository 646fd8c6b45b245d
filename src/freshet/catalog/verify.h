// SPDX-License-Identifier: Apache-2.0
/// Does every index of a collection hold exactly the entries of its documents? For the validate
/// command, for tests and for the check after a crash.
#pragma once

#include "freshet/catalog/catalog.h"

#include <memory>
#include <string>
#include <vector>

namespace freshet::catalog {

struct VerifyReport {
    struct IndexPart {
        std::string name;
        uint64_t entries = 0;    // found in the tree
        uint64_t expected = 0;   // required by the documents
        uint64_t unchecked = 0;  // of `entries`: those whose documents cannot be read
        bool isReadable = true;  // every leaf

        /// As far as documents can be read.
        bool isWhole() const { return isReadable && entries == expected + unchecked; }
    };
    uint64_t documents = 0;  // that can be read
    std::vector<IndexPart> indexes;
    std::vector<std::string> problems;  // at most kProblemsMax, the first ones
    uint64_t problemCount = 0;

    static constexpr size_t kProblemsMax = 100;
    bool isValid() const { return problemCount == 0; }
};

/// A verification in progress, over one snapshot, while writers run. One thread from begin to end.
class Verification {
public:
    Verification(engine::Store& store, CollectionRef collection);
    ~Verification();

    /// ok: report() is complete. Problems do not make the run fail, nor do leaves that cannot be
    /// read: the report says which records or keys they had, how many, and why. WouldBlock: wait
    /// for token() and call again; also returned, with a completed token, to let others run.
    /// kCancelled: the collection or one of its indexes was dropped.
    Status run();
    const sync::WaitToken& token() const;
    const VerifyReport& report() const;

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

/// The same from a plain thread; blocks.
StatusOr<VerifyReport> verifyCollection(engine::Store& store, CollectionRef collection);

}  // namespace freshet::catalog
