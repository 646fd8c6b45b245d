// SPDX-License-Identifier: Apache-2.0
/// What the benchmark asks of a storage engine: ordered byte keys to byte values, one transaction
/// per call. One adapter for each engine; a variant of an engine of ours is one more row in
/// engineKinds() with another factory.
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
    bool directIo = false;           // no help from the operating system's page cache
    bool checkpointsByHand = false;  // jitter: none but those that are asked for
};

/// Where a read hands over what it found. The measured loops touch both ends of the value, wherever
/// the engine keeps it; an engine whose front door copies pays for its copy.
class ValueTaker {
public:
    /// With `copy` the whole value is kept there.
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

/// The i-th pair, good until the next call.
using PairAt = std::function<void(uint64_t i, ByteView* key, ByteView* value)>;
using EachPair = std::function<void(ByteView key, ByteView value)>;

class EngineSession;

class Engine {
public:
    virtual ~Engine() = default;
    /// A session for the calling thread.
    virtual StatusOr<std::unique_ptr<EngineSession>> session() = 0;
    /// Fills the empty engine with pairs 0..count-1 in the quickest way it has, at no particular
    /// durability, and leaves them as it likes them for what comes. The calling thread alone.
    virtual Status fill(uint64_t count, const PairAt& pair) = 0;
    /// Brings the data file up to date. Beside the sessions.
    virtual Status checkpoint() = 0;

    /// Record ids ascend over all threads.
    uint64_t nextRecordId() {
        // [recordId.next] relaxed: only uniqueness matters.
        return nextRecordId_.fetch_add(1, sync::kRelaxed);
    }

private:
    alignas(sync::kLineBytes) sync::Atomic<uint64_t> nextRecordId_{1};
};

/// One thread's way into an engine; must die before the engine does. Each call is a transaction of
/// its own, begun and ended inside, run again when it lost against another.
class EngineSession {
public:
    explicit EngineSession(Engine* engine) : engine_(*engine) {}
    virtual ~EngineSession() = default;
    /// kNotFound.
    virtual Status read(ByteView key, ValueTaker* taker) = 0;
    /// Sets the key's value; acknowledged at the engine's log level.
    virtual Status write(ByteView key, ByteView value) = 0;
    /// Stores the value under the next record id, as a collection of documents would: a number of
    /// eight bytes, big endian.
    virtual Status append(ByteView value) {
        char key[8];
        storeBe64(key, engine_.nextRecordId());
        return write({key, sizeof(key)}, value);
    }
    /// All pairs in key order, in one snapshot.
    virtual Status scan(const EachPair& each) = 0;

protected:
    Engine& engine_;
};

struct EngineKind {
    std::string_view name;
    /// Null: this build has no adapter, since the engine's header was not there.
    StatusOr<std::unique_ptr<Engine>> (*open)(const EngineSetup& setup);
    /// The level at which it runs when asked for `wanted`: an engine without a log has only kNone.
    LogLevel (*levelFor)(LogLevel wanted);
    /// Why it cannot take part in a workload; empty: it can.
    std::string_view (*refusal)(Workload workload);
    /// How an engine of ours gets at pages, which is how its program was built.
    std::optional<engine::PageAccess> access = std::nullopt;

    /// The program that has it, in the folder of this one; empty: this one.
    std::string_view otherProgram() const;
};

/// Every engine, whether this build has it or not.
std::span<const EngineKind> engineKinds();
/// kInvalid, with the choice, when there is none of that name in this build.
StatusOr<const EngineKind*> engineKind(const std::string& name);

StatusOr<std::unique_ptr<Engine>> openFreshet(const EngineSetup& setup);
/// The same with the journal's other ways to fill its slots (journal/variants.h).
StatusOr<std::unique_ptr<Engine>> openFreshetLeader(const EngineSetup& setup);
StatusOr<std::unique_ptr<Engine>> openFreshetMutex(const EngineSetup& setup);
StatusOr<std::unique_ptr<Engine>> openMap(const EngineSetup& setup);
StatusOr<std::unique_ptr<Engine>> openWiredTiger(const EngineSetup& setup);
StatusOr<std::unique_ptr<Engine>> openRocksDb(const EngineSetup& setup);
StatusOr<std::unique_ptr<Engine>> openRocksDbAsking(const EngineSetup& setup);
StatusOr<std::unique_ptr<Engine>> openLmdb(const EngineSetup& setup);

}  // namespace freshet::bench
