// SPDX-License-Identifier: Apache-2.0
#include "freshet/command/run/sessions.h"

#include "freshet/command/run/fields.h"

#include <mutex>

namespace freshet::command {
namespace {

constexpr uint8_t kUuidSubtype = 4;
constexpr size_t kUuidBytes = 16;
constexpr size_t kDigestBytes = 32;

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

Status LogicalSessions::use(const std::string& name, int64_t wallMs) {
    Shard& shard = shardOf(name);
    std::lock_guard<sync::Mutex> lock(shard.mutex);
    auto found = shard.lastUse.find(name);
    if (found != shard.lastUse.end()) {
        found->second = wallMs;
        return Status::ok();
    }
    if (shard.lastUse.size() >= kLogicalSessionsMax / kShards) {
        return Status(Code::kLimit,
                      Reason::kTooManyLogicalSessions,
                      "Unable to add session because the cache of logical sessions is full");
    }
    shard.lastUse.emplace(name, wallMs);
    return Status::ok();
}

void LogicalSessions::end(const std::unordered_set<std::string>& names) {
    for (const std::string& name : names) {
        Shard& shard = shardOf(name);
        std::lock_guard<sync::Mutex> lock(shard.mutex);
        shard.lastUse.erase(name);
    }
}

size_t LogicalSessions::count() const {
    size_t total = 0;
    for (const Shard& shard : shards_) {
        std::lock_guard<sync::Mutex> lock(shard.mutex);
        total += shard.lastUse.size();
    }
    return total;
}

std::unordered_set<std::string> LogicalSessions::expire(int64_t beforeWallMs) {
    std::unordered_set<std::string> expired;
    for (Shard& shard : shards_) {
        std::lock_guard<sync::Mutex> lock(shard.mutex);
        for (auto it = shard.lastUse.begin(); it != shard.lastUse.end();) {
            if (it->second < beforeWallMs) {
                expired.insert(it->first);
                it = shard.lastUse.erase(it);
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
        for (const auto& [name, lastUse] : shard.lastUse) {
            if (result.size() >= most) {
                return result;
            }
            result.push_back({name, lastUse});
        }
    }
    return result;
}

}  // namespace freshet::command
