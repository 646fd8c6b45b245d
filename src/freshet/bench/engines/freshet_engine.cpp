// SPDX-License-Identifier: Apache-2.0
/// Freshet's engine through its public interface, on plain threads: each attempt of an operation is
/// one slice, and a blocked thread parks outside of it.
#include "freshet/bench/engines/engine.h"
#include "freshet/engine/store.h"
#include "freshet/journal/variants.h"
#include "freshet/platform/file.h"
#include "freshet/sync/epoch.h"

#include <cstdio>

namespace freshet::bench {
namespace {

constexpr engine::TreeId kTree = engine::kCatalogTree + 1;

engine::Durability durabilityOf(LogLevel level) {
    switch (level) {
        case LogLevel::kNone:  // the store has no journal
        case LogLevel::kNoSync:
            return engine::Durability::kNoSync;
        case LogLevel::kWrite:
            return engine::Durability::kWritten;
        case LogLevel::kSync:
            break;
    }
    return engine::Durability::kDurable;
}

class FreshetSession final : public EngineSession {
public:
    FreshetSession(Engine* owner, engine::Store* store, engine::Durability durability)
        : EngineSession(owner),
          store_(*store),
          tree_(store->tree(kTree)),
          durability_(durability),
          txn_(*store, engine::OnConflict::kWait, engine::Waits::kHere) {
        endRead();
    }

    Status read(ByteView key, ValueTaker* taker) override {
        Status status = readOnce(key, taker);
        while (status.isWouldBlock()) {
            txn_.await();
            status = readOnce(key, taker);
        }
        return status;
    }

    Status write(ByteView key, ByteView value) override {
        for (;;) {
            Status status = writeOnce(key, value);
            if (status.code() != Code::kConflict) {
                return status;
            }
            txn_.abort();
        }
    }

    Status scan(const EachPair& each) override {
        txn_.begin();
        engine::Cursor cursor(txn_, tree_);
        bool begun = false;
        for (;;) {
            const Status status = begun ? cursor.next() : cursor.first();
            if (status.isWouldBlock()) {
                txn_.await();
                continue;
            }
            if (!status.isOk() || !cursor.valid()) {
                endRead();
                return status;
            }
            begun = true;
            each(cursor.key(), cursor.value());
        }
    }

private:
    Status readOnce(ByteView key, ValueTaker* taker) {
        sync::Slice slice(store_.epochs());
        txn_.begin();
        ByteView value;
        Status status = txn_.getInPlace(*tree_, key, &value);
        endRead();
        if (status.isOk()) {
            taker->take(value);
        }
        return status;
    }

    /// Releases the snapshot.
    void endRead() { (void)txn_.commit(); }

    /// Usually one slice covers the whole transaction; a step that would block leaves it first.
    Status writeOnce(ByteView key, ByteView value) {
        enum class Step : uint8_t { kPut, kCommit, kWait, kDone } step = Step::kPut;
        bool begun = false;
        for (;;) {
            Status status;
            {
                sync::Slice slice(store_.epochs());
                if (!begun) {
                    txn_.begin();
                    begun = true;
                }
                while (step != Step::kDone && status.isOk()) {
                    status = step == Step::kPut      ? txn_.put(*tree_, key, value)
                             : step == Step::kCommit ? txn_.commit()
                                                     : txn_.waitFor(durability_);
                    if (status.isOk()) {
                        step = static_cast<Step>(static_cast<uint8_t>(step) + 1);
                    }
                }
            }
            if (!status.isWouldBlock()) {
                return status;
            }
            txn_.await();
        }
    }

    engine::Store& store_;
    const engine::TreeRef tree_;
    const engine::Durability durability_;
    engine::Txn txn_;
};

class FreshetEngine final : public Engine {
public:
    FreshetEngine(std::unique_ptr<engine::Store> store, LogLevel level)
        : store_(std::move(store)), durability_(durabilityOf(level)) {}
    ~FreshetEngine() override { (void)store_->close(); }

    StatusOr<std::unique_ptr<EngineSession>> session() override { return sessionAt(durability_); }

    Status fill(uint64_t count, const PairAt& pair) override {
        FRESHET_ASSIGN_OR_RETURN(std::unique_ptr<EngineSession> session,
                                 sessionAt(engine::Durability::kNoSync));
        for (uint64_t i = 0; i < count; ++i) {
            ByteView key, value;
            pair(i, &key, &value);
            FRESHET_RETURN_IF_ERROR(session->write(key, value));
        }
        return checkpoint();
    }

    Status checkpoint() override { return store_->checkpointNow(); }

private:
    StatusOr<std::unique_ptr<EngineSession>> sessionAt(engine::Durability durability) {
        return std::unique_ptr<EngineSession>(
            std::make_unique<FreshetSession>(this, store_.get(), durability));
    }

    std::unique_ptr<engine::Store> store_;
    const engine::Durability durability_;
};

StatusOr<std::unique_ptr<Engine>> openVariant(const EngineSetup& setup, journal::Variant variant) {
    journal::useVariantForBench(variant);
    engine::StoreOptions options;
    options.files = &platform::FileSystem::posix();
    options.directory = setup.directory;
    options.memoryBytes = setup.cacheMb << 20;
    options.memoryIsProcess = true;
    options.directIo = setup.directIo;
    options.withoutJournal = setup.durability == LogLevel::kNone;
    options.onFatal = [](const Status& status) {
        std::fprintf(stderr, "freshet-bench: %s\n", status.toString().c_str());
    };
    if (setup.checkpointsByHand) {
        options.checkpointIntervalMs = uint64_t{1} << 40;
        options.checkpointJournalBytes = uint64_t{1} << 60;
    }
    FRESHET_ASSIGN_OR_RETURN(std::unique_ptr<engine::Store> store, engine::Store::open(options));
    return std::unique_ptr<Engine>(
        std::make_unique<FreshetEngine>(std::move(store), setup.durability));
}

}  // namespace

StatusOr<std::unique_ptr<Engine>> openFreshet(const EngineSetup& setup) {
    return openVariant(setup, journal::Variant::kSlots);
}

StatusOr<std::unique_ptr<Engine>> openFreshetLeader(const EngineSetup& setup) {
    return openVariant(setup, journal::Variant::kLeader);
}

StatusOr<std::unique_ptr<Engine>> openFreshetMutex(const EngineSetup& setup) {
    return openVariant(setup, journal::Variant::kMutex);
}

}  // namespace freshet::bench
