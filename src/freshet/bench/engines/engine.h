// SPDX-License-Identifier: Apache-2.0
/// What the benchmark asks of a storage engine: an ordered map from byte keys to byte values, one
/// transaction per call. Each engine has an adapter; a variant of our own engine is one more row in
/// engineKinds() with a factory of its own.
#pragma once

#include "freshet/base/bytes.h"
#include "freshet/base/status.h"
#include "freshet/bench/engine_options.h"
#include "freshet/engine/page_access.h"
#include "freshet/sync/atomic.h"

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace freshet::bench {

struct EngineSetup {
    std::string directory;  // exists and is empty
    LogLevel durability = LogLevel::kNone;
    uint64_t cacheMb = 1'024;
    unsigned threads = 1;
    bool directIo = false;           // bypasses the operating system's page cache
    bool checkpointsByHand = false;  // jitter: only the checkpoints that are asked for
};

/// Takes the value that a read found. The measured loops touch both ends of the value, wherever the
/// engine keeps it; an engine whose interface copies the value pays for the copy.
class ValueTaker {
public:
    /// With `copy`, the whole value is stored there.
    explicit ValueTaker(std::string* copy = nullptr) : copy_(copy) {}
    void take(ByteView value) {
        touched_ += static_cast<unsigned char>(value.front());
        touched_ += static_cast<unsigned char>(value.back());
        if (copy_ != nullptr) {
            copy_->assign(value);
        }
    }
    uint64_t touched() const { return touched_; }

private:
    std::string* const copy_;
    uint64_t touched_ = 0;
};

/// Sets *key and *value to the i-th pair, valid until the next call.
using PairAt = std::function<void(uint64_t i, ByteView* key, ByteView* value)>;
using EachPair = std::function<void(ByteView key, ByteView value)>;

class EngineSession;

class Engine {
public:
    virtual ~Engine() = default;
    /// Returns a session for the calling thread.
    virtual StatusOr<std::unique_ptr<EngineSession>> session() = 0;
    /// Fills the empty engine with pairs 0..count-1 in its fastest way, at no particular
    /// durability, and leaves it ready for the workload. No other thread uses the engine meanwhile.
    virtual Status fill(uint64_t count, const PairAt& pair) = 0;
    /// Brings the data file up to date. Sessions may run at the same time.
    virtual Status checkpoint() = 0;

    /// Record ids ascend across all threads.
    uint64_t nextRecordId() {
        // [recordId.next] relaxed: only uniqueness matters.
        return nextRecordId_.fetch_add(1, sync::kRelaxed);
    }

private:
    alignas(sync::kLineBytes) sync::Atomic<uint64_t> nextRecordId_{1};
};

/// One thread's access to an engine; must be destroyed before the engine. Each call is a
/// transaction of its own and is retried after a conflict.
class EngineSession {
public:
    explicit EngineSession(Engine* engine) : engine_(*engine) {}
    virtual ~EngineSession() = default;
    /// Returns kNotFound if the key does not exist.
    virtual Status read(ByteView key, ValueTaker* taker) = 0;
    /// Sets the key's value; acknowledged at the engine's log level.
    virtual Status write(ByteView key, ByteView value) = 0;
    /// Stores the value under the next record id, as a collection of documents does: an eight-byte
    /// number in big-endian order.
    virtual Status append(ByteView value) {
        char key[8];
        storeBe64(key, engine_.nextRecordId());
        return write({key, sizeof(key)}, value);
    }
    /// Calls `each` for all pairs in key order, in one snapshot.
    virtual Status scan(const EachPair& each) = 0;

protected:
    Engine& engine_;
};

struct EngineKind {
    std::string_view name;
    /// Null: this build has no adapter, because the engine's header was not found.
    StatusOr<std::unique_ptr<Engine>> (*open)(const EngineSetup& setup);
    /// The level at which it runs when `wanted` is asked for: an engine without a log supports only
    /// kNone.
    LogLevel (*levelFor)(LogLevel wanted);
    /// Why it cannot run a workload; empty: it can.
    std::string_view (*refusal)(Workload workload);
    /// How a build of our engine accesses pages, which is fixed when its program is built.
    std::optional<engine::PageAccess> access = std::nullopt;

    /// The program that contains it, in the same folder as this one; empty: this program.
    std::string_view otherProgram() const;
};

/// All engines, also those that this build does not have.
std::span<const EngineKind> engineKinds();
/// Returns kInvalid, with the names to choose from, if this build has none of that name.
StatusOr<const EngineKind*> engineKind(const std::string& name);

StatusOr<std::unique_ptr<Engine>> openFreshet(const EngineSetup& setup);
/// The same with the journal's alternative ways to fill its slots (journal/variants.h).
StatusOr<std::unique_ptr<Engine>> openFreshetLeader(const EngineSetup& setup);
StatusOr<std::unique_ptr<Engine>> openFreshetMutex(const EngineSetup& setup);
StatusOr<std::unique_ptr<Engine>> openMap(const EngineSetup& setup);
StatusOr<std::unique_ptr<Engine>> openWiredTiger(const EngineSetup& setup);
StatusOr<std::unique_ptr<Engine>> openRocksDb(const EngineSetup& setup);
StatusOr<std::unique_ptr<Engine>> openRocksDbAsking(const EngineSetup& setup);
StatusOr<std::unique_ptr<Engine>> openLmdb(const EngineSetup& setup);

}  // namespace freshet::bench
