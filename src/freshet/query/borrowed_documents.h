// SPDX-License-Identifier: Apache-2.0
/// BorrowedDocuments: documents that a reply's text leaves out, because they are large and are sent
/// from where they lie. Values; one thread at a time, any thread.
#pragma once

#include "freshet/bson/view.h"
#include "freshet/engine/value_share.h"

#include <string>
#include <utility>
#include <vector>

namespace freshet::query {

/// Smaller documents are copied: that costs less than a share, and a piece of its own on the wire.
inline constexpr size_t kBorrowBytesMin = 16 * 1024;

class BorrowedDocuments {
public:
    /// More are copied: each makes two pieces more of a message, which has only so many.
    static constexpr size_t kDocumentsMax = 15;

    struct Place {
        size_t at;  // in the text, which goes on here behind the document
        engine::ValueShare document;
    };

    bool isFull() const { return places_.size() == kDocumentsMax; }
    /// REQUIRES: not full; `at` is not before that of the last one.
    void add(size_t at, engine::ValueShare document) {
        bytes_ += document.view().size();
        places_.push_back({at, std::move(document)});
    }
    /// Of all documents: so much longer is what is sent than the text.
    size_t bytes() const { return bytes_; }
    /// In the order of their places.
    std::vector<Place>& places() { return places_; }
    /// The text with its documents, in one piece.
    std::string putIntoForTest(ByteView text) const {
        std::string whole;
        size_t from = 0;
        for (const Place& place : places_) {
            whole.append(text.substr(from, place.at - from)).append(place.document.view());
            from = place.at;
        }
        return whole.append(text.substr(from));
    }

private:
    std::vector<Place> places_;
    size_t bytes_ = 0;
};

}  // namespace freshet::query
