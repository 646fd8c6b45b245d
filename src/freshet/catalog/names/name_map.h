// SPDX-License-Identifier: Apache-2.0
/// NameMap: all collections at one moment, ordered by database and name. A copy shares nearly
/// everything with its original: entries are in chunks that are replaced when they change, so one
/// change costs a chunk and the list of chunks. A published map is immutable; an unpublished one
/// belongs to one thread.
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
    /// Null if there is none.
    CollectionRef find(std::string_view db, std::string_view collection) const;
    /// Adds it under its names, replacing an existing entry.
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
    struct Position {
        size_t chunk;
        size_t at;  // may be past the chunk's last entry
    };
    /// The position where `key` is or would be inserted.
    Position positionOf(std::string_view key) const;
    /// The entry there, or else the next one, to which *position then moves; null after the last.
    const Entry* entryFrom(Position* position) const;
    const Entry* firstFrom(std::string_view key) const;
    /// The chunk as a copy of this map's own.
    Chunk& own(size_t chunk);

    std::vector<std::shared_ptr<Chunk>> chunks_;  // chunks that other maps share are not changed
};

}  // namespace freshet::catalog
