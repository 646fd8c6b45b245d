// SPDX-License-Identifier: Apache-2.0
/// Containers whose memory counts under the ceiling.
#pragma once

#include "freshet/base/counted_allocator.h"
#include "freshet/engine/memory/memory_count.h"

#include <functional>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

namespace freshet::engine {

template <typename T>
using CountedVector = std::vector<T, CountedAllocator<T, MemoryCount>>;

template <typename Key, typename Value>
using CountedMap = std::
    map<Key, Value, std::less<Key>, CountedAllocator<std::pair<const Key, Value>, MemoryCount>>;

template <typename Key, typename Value>
using CountedHashMap =
    std::unordered_map<Key,
                       Value,
                       std::hash<Key>,
                       std::equal_to<Key>,
                       CountedAllocator<std::pair<const Key, Value>, MemoryCount>>;

}  // namespace freshet::engine
