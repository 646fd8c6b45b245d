// SPDX-License-Identifier: Apache-2.0
/// BorrowedDocuments: large documents that a reply's text leaves out because they are sent from the
/// storage's own memory. Values; one thread at a time, any thread.
#pragma once

#include "freshet/bson/view.h"
#include "freshet/engine/value_share.h"

#include <string>
#include <utility>
#include <vector>

namespace freshet::query {

/// Smaller documents are copied: a copy costs less than a share and a separate piece of a message.
inline constexpr size_t kBorrowBytesMin = 16 * 1024;

class BorrowedDocuments {
public:
    /// Further ones are copied: each adds two pieces to a message, and a message has only so many.
    static constexpr size_t kDocumentsMax = 15;

    struct Entry {
        size_t at;  // offset in the text where the document belongs
        engine::ValueShare document;
    };

    bool isFull() const { return entries_.size() == kDocumentsMax; }
    /// REQUIRES: not full; `at` is not less than the last one's.
    void add(size_t at, engine::ValueShare document) {
        bytes_ += document.view().size();
        entries_.push_back({at, std::move(document)});
    }
    /// Of all documents: what is sent is this much longer than the text.
    size_t bytes() const { return bytes_; }
    /// In the order of their offsets.
    std::vector<Entry>& entries() { return entries_; }
    /// The text with the documents inserted, in one piece.
    std::string putIntoForTest(ByteView text) const {
        std::string whole;
        size_t from = 0;
        for (const Entry& entry : entries_) {
            whole.append(text.substr(from, entry.at - from)).append(entry.document.view());
            from = entry.at;
        }
        return whole.append(text.substr(from));
    }

private:
    std::vector<Entry> entries_;
    size_t bytes_ = 0;
};

}  // namespace freshet::query
