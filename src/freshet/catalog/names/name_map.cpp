// SPDX-License-Identifier: Apache-2.0
#include "freshet/catalog/names/name_map.h"

#include <algorithm>

namespace freshet::catalog {
namespace {

constexpr size_t kChunkMax = 128;

std::string keyOf(std::string_view db, std::string_view collection) {
    std::string key(db);
    key += '\0';
    key += collection;
    return key;
}

}  // namespace

NameMap::Position NameMap::positionOf(std::string_view key) const {
    const auto behind =
        std::partition_point(chunks_.begin(), chunks_.end(), [&](const auto& chunk) {
            return chunk->front().key <= key;
        });
    if (behind == chunks_.begin()) {
        return {0, 0};
    }
    const auto index = static_cast<size_t>(behind - chunks_.begin()) - 1;
    const Chunk& chunk = *chunks_[index];
    const auto found = std::partition_point(
        chunk.begin(), chunk.end(), [&](const Entry& entry) { return entry.key < key; });
    return {index, static_cast<size_t>(found - chunk.begin())};
}

const NameMap::Entry* NameMap::entryFrom(Position* position) const {
    if (position->chunk < chunks_.size() && position->at == chunks_[position->chunk]->size()) {
        *position = {position->chunk + 1, 0};
    }
    return position->chunk < chunks_.size() ? &(*chunks_[position->chunk])[position->at] : nullptr;
}

const NameMap::Entry* NameMap::firstFrom(std::string_view key) const {
    Position position = positionOf(key);
    return entryFrom(&position);
}

NameMap::Chunk& NameMap::own(size_t chunk) {
    std::shared_ptr<Chunk>& mine = chunks_[chunk];
    if (mine.use_count() != 1) {
        mine = std::make_shared<Chunk>(*mine);
    }
    return *mine;
}

CollectionRef NameMap::find(std::string_view db, std::string_view collection) const {
    const std::string key = keyOf(db, collection);
    const Entry* found = firstFrom(key);
    return found != nullptr && found->key == key ? found->collection : nullptr;
}

void NameMap::set(CollectionRef collection) {
    std::string key = keyOf(collection->db, collection->name);
    if (chunks_.empty()) {
        chunks_.push_back(std::make_shared<Chunk>(Chunk{{std::move(key), std::move(collection)}}));
        return;
    }
    const Position position = positionOf(key);
    Chunk& chunk = own(position.chunk);
    const auto at = chunk.begin() + static_cast<std::ptrdiff_t>(position.at);
    if (at != chunk.end() && at->key == key) {
        at->collection = std::move(collection);
        return;
    }
    chunk.insert(at, {std::move(key), std::move(collection)});
    if (chunk.size() > kChunkMax) {
        const auto half = chunk.begin() + kChunkMax / 2;
        auto upper = std::make_shared<Chunk>(std::make_move_iterator(half),
                                             std::make_move_iterator(chunk.end()));
        chunk.erase(half, chunk.end());
        chunks_.insert(chunks_.begin() + static_cast<std::ptrdiff_t>(position.chunk) + 1,
                       std::move(upper));
    }
}

void NameMap::erase(std::string_view db, std::string_view collection) {
    const std::string key = keyOf(db, collection);
    Position position = positionOf(key);
    const Entry* found = entryFrom(&position);
    if (found == nullptr || found->key != key) {
        return;
    }
    Chunk& chunk = own(position.chunk);
    chunk.erase(chunk.begin() + static_cast<std::ptrdiff_t>(position.at));
    if (chunk.empty()) {
        chunks_.erase(chunks_.begin() + static_cast<std::ptrdiff_t>(position.chunk));
    }
}

size_t NameMap::size() const {
    size_t all = 0;
    for (const auto& chunk : chunks_) {
        all += chunk->size();
    }
    return all;
}

bool NameMap::hasDatabase(std::string_view db) const {
    const Entry* first = firstFrom(keyOf(db, ""));
    return first != nullptr && first->collection->db == db;
}

std::vector<std::string> NameMap::databases() const {
    std::vector<std::string> result;
    for (const Entry* first = firstFrom(""); first != nullptr;) {
        result.push_back(first->collection->db);
        first = firstFrom(result.back() + '\1');  // past all keys that start with the name and 0
    }
    return result;
}

std::vector<CollectionRef> NameMap::collections(std::string_view db) const {
    std::vector<CollectionRef> result;
    Position position = positionOf(keyOf(db, ""));
    for (const Entry* entry = entryFrom(&position); entry != nullptr && entry->collection->db == db;
         entry = entryFrom(&position)) {
        result.push_back(entry->collection);
        ++position.at;
    }
    return result;
}

void NameMap::forEach(const std::function<void(const CollectionRef&)>& visit) const {
    for (const auto& chunk : chunks_) {
        for (const Entry& entry : *chunk) {
            visit(entry.collection);
        }
    }
}

}  // namespace freshet::catalog
