// SPDX-License-Identifier: Apache-2.0
/// Writing the bodies of COMMIT records (commit_format.h). Reading: engine/commit_reader.h.
#pragma once

#include "freshet/base/bytes.h"
#include "freshet/engine/commit_reader.h"
#include "freshet/engine/txn/commit_format.h"

#include <string>
#include <vector>

namespace freshet::engine {

class CommitRecordWriter {
public:
    static constexpr size_t kBytesMax = 64u << 20;

    /// `bytesMax`: what does not fit into a record of so many bytes goes into another one. A single
    /// change or event may be larger.
    explicit CommitRecordWriter(size_t bytesMax = kBytesMax);
    void add(TreeId tree, CommitOp op, ByteView key, ByteView value);
    void addEvent(ByteView event);
    bool hasEvents() const { return hasEvents_; }
    /// Of all records.
    size_t bytes() const { return sealedBytes_ + recordBytes(); }
    size_t memoryBytes() const;
    /// Nothing more is added. `wallMs`: for the event section, if there is one.
    void finish(int64_t wallMs);
    /// REQUIRES: finish(). How many bodies takeBody() has not returned yet: 1 at first, or those of
    /// a chain.
    size_t bodiesLeft() const { return sealed_.size() - taken_ + (body_.empty() ? 0 : 1); }
    /// REQUIRES: bodiesLeft() != 0. `first`: the LSN of the chain's first record; of no importance
    /// for that record itself.
    std::string takeBody(journal::Lsn first);

private:
    size_t recordBytes() const { return body_.size() + events_.size(); }
    void begin();
    /// Goes on in another record if `bytes` more would be too many for this one.
    void makeRoom(size_t bytes);
    /// Completes the body. `isLast`: it is the only one, or the last of a chain.
    void seal(int64_t wallMs, bool isLast);

    size_t bytesMax_;
    std::vector<std::string> sealed_;  // all bodies but the last
    size_t sealedBytes_ = 0;
    size_t taken_ = 0;  // of sealed_
    std::string body_;
    std::string events_;  // each with its length
    uint32_t ops_ = 0;
    uint32_t eventCount_ = 0;
    bool hasEvents_ = false;
};

}  // namespace freshet::engine
