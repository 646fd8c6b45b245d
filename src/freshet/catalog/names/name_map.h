// SPDX-License-Identifier: Apache-2.0
/// NameMap: all collections at one moment, in the order of their databases and names. A copy shares
/// nearly all with its original: entries lie in chunks that are replaced when they change, so a
/// change of one among many costs a chunk and the list of chunks. A map that is published is not
/// changed any more; one that is not belongs to one thread.
#pragma once

#include "freshet/catalog/catalog.h"

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace freshet::catalog {

class NameMap {
public:
    /// Null when there is none.
    CollectionRef find(std::string_view db, std::string_view collection) const;
    /// Puts it under its names, in place of what is there.
    void set(CollectionRef collection);
    void erase(std::string_view db, std::string_view collection);

    size_t size() const;
    bool hasDatabase(std::string_view db) const;
    std::vector<std::string> databases() const;
    std::vector<CollectionRef> collections(std::string_view db) const;
    void forEach(const std::function<void(const CollectionRef&)>& visit) const;

private:
    struct Entry {
        std::string key;  // database, 0, collection
        CollectionRef collection;
    };
    /// Ascending, not empty.
    using Chunk = std::vector<Entry>;
    struct Place {
        size_t chunk;
        size_t at;  // may be behind the chunk's last entry
    };
    /// Where `key` is or would be put.
    Place placeOf(std::string_view key) const;
    /// The entry there or else the next one, and *place moves to it; null behind the last.
    const Entry* entryFrom(Place* place) const;
    const Entry* firstFrom(std::string_view key) const;
    /// The chunk, as this map's own.
    Chunk& own(size_t chunk);

    std::vector<std::shared_ptr<Chunk>> chunks_;  // those that others share are not changed
};

}  // namespace freshet::catalog
