// SPDX-License-Identifier: Apache-2.0
/// The control: a std::map behind one lock, without a log or files. An engine slower than this is
/// not a useful rival.
#include "freshet/bench/engines/engine.h"

#include <map>
#include <mutex>
#include <shared_mutex>

namespace freshet::bench {
namespace {

class MapEngine final : public Engine {
public:
    StatusOr<std::unique_ptr<EngineSession>> session() override;
    Status fill(uint64_t count, const PairAt& pair) override {
        for (uint64_t i = 0; i < count; ++i) {
            ByteView key, value;
            pair(i, &key, &value);
            map_.insert_or_assign(std::string(key), std::string(value));
        }
        return Status::ok();
    }
    Status checkpoint() override { return Status::ok(); }

private:
    friend class MapSession;
    std::shared_mutex mutex_;
    std::map<std::string, std::string, std::less<>> map_;  // guarded by mutex_
};

class MapSession final : public EngineSession {
public:
    explicit MapSession(MapEngine* engine) : EngineSession(engine), map_(*engine) {}

    Status read(ByteView key, ValueTaker* taker) override {
        std::shared_lock<std::shared_mutex> lock(map_.mutex_);
        const auto found = map_.map_.find(key);
        if (found == map_.map_.end()) {
            return Status(Code::kNotFound, "");
        }
        taker->take(found->second);
        return Status::ok();
    }
    Status write(ByteView key, ByteView value) override {
        std::unique_lock<std::shared_mutex> lock(map_.mutex_);
        map_.map_.insert_or_assign(std::string(key), std::string(value));
        return Status::ok();
    }
    Status append(ByteView value) override {
        char key[8];
        storeBe64(key, engine_.nextRecordId());
        std::unique_lock<std::shared_mutex> lock(map_.mutex_);
        auto& map = map_.map_;
        map.insert_or_assign(map.end(), std::string(key, sizeof(key)), std::string(value));
        return Status::ok();
    }
    Status scan(const EachPair& each) override {
        std::shared_lock<std::shared_mutex> lock(map_.mutex_);
        for (const auto& [key, value] : map_.map_) {
            each(key, value);
        }
        return Status::ok();
    }

private:
    MapEngine& map_;
};

StatusOr<std::unique_ptr<EngineSession>> MapEngine::session() {
    return std::unique_ptr<EngineSession>(std::make_unique<MapSession>(this));
}

}  // namespace

StatusOr<std::unique_ptr<Engine>> openMap(const EngineSetup&) {
    return std::unique_ptr<Engine>(std::make_unique<MapEngine>());
}

}  // namespace freshet::bench
