// SPDX-License-Identifier: Apache-2.0
#include "freshet/command/run/sessions.h"

#include "freshet/command/run/fields.h"

#include <algorithm>
#include <mutex>

namespace freshet::command {
namespace {

constexpr uint8_t kUuidSubtype = 4;
constexpr size_t kUuidBytes = 16;
constexpr size_t kDigestBytes = 32;

constexpr int64_t kOrderMs = 60'000;
constexpr uint64_t kPartOfMemory = 16;  // the part of the requests' memory that all sessions may
                                        // use
constexpr uint64_t kEntryBytes = 512;
constexpr size_t kAlways = 10'000;

}  // namespace

StatusOr<std::string> sessionName(bson::Document session, std::string_view context) {
    Fields fields(session, context);
    fields.allowOnly({"id", "uid", "txnNumber", "txnUUID"});
    const bson::Element id = fields.required("id");
    FRESHET_RETURN_IF_ERROR(fields.status());
    if (id.type() != bson::Type::kBinary) {
        return invalid(Reason::kTypeMismatch,
                       "BSON field '" + std::string(context) + ".id' is the wrong type '" +
                           std::string(bson::typeName(id.type())) + "', expected type 'binData'");
    }
    if (id.binaryValue().subtype != kUuidSubtype || id.binaryValue().bytes.size() != kUuidBytes) {
        return invalid(Reason::kInvalidUuid,
                       "uuid must be a 16-byte binary field with UUID (4) subtype");
    }
    bson::Builder name;
    name.add(id);
    if (const bson::Element uid = fields.element("uid")) {
        if (uid.type() != bson::Type::kBinary || uid.binaryValue().bytes.size() != kDigestBytes) {
            return invalid(Reason::kTypeMismatch,
                           "BSON field '" + std::string(context) +
                               ".uid' must be a SHA-256 digest of 32 bytes");
        }
        name.add(uid);
    }
    return name.finish();
}

LogicalSessions::Shard& LogicalSessions::shardOf(const std::string& name) {
    return shards_[std::hash<std::string>()(name) % kShards];
}

LogicalSessions::Entries::iterator LogicalSessions::Shard::erase(Entries::iterator entry) {
    shares.remove(entry->second.share);
    return entries.erase(entry);
}

size_t LogicalSessions::maxFor(uint64_t requestBytes) {
    return requestBytes == 0
               ? kLogicalSessionsMax
               : std::clamp<size_t>(
                     requestBytes / kPartOfMemory / kEntryBytes, kAlways, kLogicalSessionsMax);
}

void LogicalSessions::use(const std::string& name, const std::string& holder, int64_t wallMs) {
    Shard& shard = shardOf(name);
    std::lock_guard<sync::Mutex> lock(shard.mutex);
    const auto [found, isNew] = shard.entries.try_emplace(name);
    Entry& entry = found->second;
    // The order need not be exact, and keeping it exact is the expensive part.
    const bool mustMove = !isNew && wallMs - entry.lastUseWallMs > kOrderMs;
    entry.lastUseWallMs = wallMs;
    if (mustMove) {
        shard.shares.remove(entry.share);
    }
    if (mustMove || isNew) {
        entry.share = shard.shares.add(holder, 0, 0, &found->first);
    }
    if (shard.entries.size() <= shardMax_) {
        return;
    }
    if (const auto* oldest = shard.shares.next(Shares::By::kCount, entry.share)) {
        shard.erase(shard.entries.find(**oldest));
    }
}

void LogicalSessions::end(const std::unordered_set<std::string>& names) {
    for (const std::string& name : names) {
        Shard& shard = shardOf(name);
        std::lock_guard<sync::Mutex> lock(shard.mutex);
        if (const auto found = shard.entries.find(name); found != shard.entries.end()) {
            shard.erase(found);
        }
    }
}

size_t LogicalSessions::count() const {
    size_t total = 0;
    for (const Shard& shard : shards_) {
        std::lock_guard<sync::Mutex> lock(shard.mutex);
        total += shard.entries.size();
    }
    return total;
}

std::unordered_set<std::string> LogicalSessions::expire(int64_t beforeWallMs) {
    std::unordered_set<std::string> expired;
    for (Shard& shard : shards_) {
        std::lock_guard<sync::Mutex> lock(shard.mutex);
        for (auto it = shard.entries.begin(); it != shard.entries.end();) {
            if (it->second.lastUseWallMs < beforeWallMs) {
                expired.insert(it->first);
                it = shard.erase(it);
            } else {
                ++it;
            }
        }
    }
    return expired;
}

std::vector<LogicalSessions::Listed> LogicalSessions::list(size_t most) const {
    std::vector<Listed> result;
    for (const Shard& shard : shards_) {
        std::lock_guard<sync::Mutex> lock(shard.mutex);
        for (const auto& [name, entry] : shard.entries) {
            if (result.size() >= most) {
                return result;
            }
            result.push_back({name, entry.lastUseWallMs});
        }
    }
    return result;
}

}  // namespace freshet::command
