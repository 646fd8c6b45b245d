// SPDX-License-Identifier: Apache-2.0
/// LMDB: one writer at a time, pages copied on write in a mapped file, no log. The log levels
/// therefore stand for the ways in which a commit reaches the file.
#ifdef FRESHET_HAS_LMDB
#include "freshet/bench/engines/engine.h"

#include <lmdb.h>

namespace freshet::bench {
namespace {

constexpr size_t kMapBytes = size_t{32} << 30;
/// Reader slots belong to transactions instead of threads, so that a transaction can be kept and
/// renewed; no read-ahead, since reads are random.
constexpr unsigned kFlags = MDB_NOTLS | MDB_NORDAHEAD;

/// none, nosync: a commit changes the writable map, and the system writes it at some later time (a
/// crash of the system can damage the file: less safe than a log). write: a commit writes its
/// pages. sync: a commit also flushes them, twice.
unsigned flagsOf(LogLevel level) {
    switch (level) {
        case LogLevel::kNone:
        case LogLevel::kNoSync:
            return kFlags | MDB_NOSYNC | MDB_WRITEMAP;
        case LogLevel::kWrite:
            return kFlags | MDB_NOSYNC;
        case LogLevel::kSync:
            break;
    }
    return kFlags;
}

Status lmdbStatus(int error, const char* what) {
    return error == 0 ? Status::ok()
                      : Status(error == MDB_NOTFOUND ? Code::kNotFound : Code::kIo,
                               std::string(what) + ": " + mdb_strerror(error));
}

MDB_val valOf(ByteView bytes) {
    return {bytes.size(), const_cast<char*>(bytes.data())};
}

ByteView viewOf(const MDB_val& val) {
    return {static_cast<const char*>(val.mv_data), val.mv_size};
}

/// Its read transaction is reset and renewed, which is the cheapest way to have one per operation.
class LmdbSession final : public EngineSession {
public:
    LmdbSession(Engine* engine, MDB_env* environment, MDB_dbi table, MDB_txn* reader)
        : EngineSession(engine), environment_(environment), table_(table), reader_(reader) {
        mdb_txn_reset(reader_);
    }
    ~LmdbSession() override { mdb_txn_abort(reader_); }

    Status read(ByteView key, ValueTaker* taker) override {
        FRESHET_RETURN_IF_ERROR(lmdbStatus(mdb_txn_renew(reader_), "mdb_txn_renew"));
        MDB_val sought = valOf(key);
        MDB_val value;
        const int error = mdb_get(reader_, table_, &sought, &value);
        if (error == 0) {
            taker->take(viewOf(value));
        }
        mdb_txn_reset(reader_);
        return lmdbStatus(error, "mdb_get");
    }

    Status write(ByteView key, ByteView value) override {
        MDB_txn* txn = nullptr;
        FRESHET_RETURN_IF_ERROR(
            lmdbStatus(mdb_txn_begin(environment_, nullptr, 0, &txn), "mdb_txn_begin"));
        MDB_val keyVal = valOf(key);
        MDB_val valueVal = valOf(value);
        if (int error = mdb_put(txn, table_, &keyVal, &valueVal, 0)) {
            mdb_txn_abort(txn);
            return lmdbStatus(error, "mdb_put");
        }
        return lmdbStatus(mdb_txn_commit(txn), "mdb_txn_commit");
    }

    Status scan(const EachPair& each) override {
        FRESHET_RETURN_IF_ERROR(lmdbStatus(mdb_txn_renew(reader_), "mdb_txn_renew"));
        MDB_cursor* cursor = nullptr;
        int error = mdb_cursor_open(reader_, table_, &cursor);
        MDB_val key, value;
        while (error == 0 && (error = mdb_cursor_get(cursor, &key, &value, MDB_NEXT)) == 0) {
            each(viewOf(key), viewOf(value));
        }
        if (cursor != nullptr) {
            mdb_cursor_close(cursor);
        }
        mdb_txn_reset(reader_);
        return lmdbStatus(error == MDB_NOTFOUND ? 0 : error, "mdb_cursor_get");
    }

private:
    MDB_env* const environment_;
    const MDB_dbi table_;
    MDB_txn* const reader_;
};

class LmdbEngine final : public Engine {
public:
    explicit LmdbEngine(MDB_env* environment) : environment_(environment) {}
    ~LmdbEngine() override { mdb_env_close(environment_); }

    Status openFiles(const EngineSetup& setup) {
        FRESHET_RETURN_IF_ERROR(
            lmdbStatus(mdb_env_set_mapsize(environment_, kMapBytes), "mapsize"));
        FRESHET_RETURN_IF_ERROR(
            lmdbStatus(mdb_env_set_maxreaders(environment_, setup.threads + 16), "maxreaders"));
        FRESHET_RETURN_IF_ERROR(lmdbStatus(
            mdb_env_open(environment_, setup.directory.c_str(), flagsOf(setup.durability), 0644),
            "mdb_env_open"));
        return write(
            1, [this](MDB_txn* txn, uint64_t) { return mdb_dbi_open(txn, nullptr, 0, &table_); });
    }

    StatusOr<std::unique_ptr<EngineSession>> session() override {
        MDB_txn* reader = nullptr;
        FRESHET_RETURN_IF_ERROR(
            lmdbStatus(mdb_txn_begin(environment_, nullptr, MDB_RDONLY, &reader), "mdb_txn_begin"));
        return std::unique_ptr<EngineSession>(
            std::make_unique<LmdbSession>(this, environment_, table_, reader));
    }

    Status fill(uint64_t count, const PairAt& pair) override {
        return write(count, [&](MDB_txn* txn, uint64_t i) {
            ByteView key, value;
            pair(i, &key, &value);
            MDB_val keyVal = valOf(key);
            MDB_val valueVal = valOf(value);
            return mdb_put(txn, table_, &keyVal, &valueVal, 0);
        });
    }

    Status checkpoint() override {
        return lmdbStatus(mdb_env_sync(environment_, 1), "mdb_env_sync");
    }

private:
    /// Calls `call` for 0..count-1, many of them in one transaction.
    template <typename Call>
    Status write(uint64_t count, Call call) {
        constexpr uint64_t kBatch = 10'000;
        for (uint64_t from = 0; from < count; from += kBatch) {
            MDB_txn* txn = nullptr;
            FRESHET_RETURN_IF_ERROR(
                lmdbStatus(mdb_txn_begin(environment_, nullptr, 0, &txn), "mdb_txn_begin"));
            for (uint64_t i = from; i < std::min(from + kBatch, count); ++i) {
                if (int error = call(txn, i)) {
                    mdb_txn_abort(txn);
                    return lmdbStatus(error, "mdb_put or mdb_dbi_open");
                }
            }
            FRESHET_RETURN_IF_ERROR(lmdbStatus(mdb_txn_commit(txn), "mdb_txn_commit"));
        }
        return Status::ok();
    }

    MDB_env* const environment_;
    MDB_dbi table_ = 0;
};

}  // namespace

StatusOr<std::unique_ptr<Engine>> openLmdb(const EngineSetup& setup) {
    MDB_env* environment = nullptr;
    FRESHET_RETURN_IF_ERROR(lmdbStatus(mdb_env_create(&environment), "mdb_env_create"));
    auto engine = std::make_unique<LmdbEngine>(environment);
    FRESHET_RETURN_IF_ERROR(engine->openFiles(setup));
    return std::unique_ptr<Engine>(std::move(engine));
}

}  // namespace freshet::bench
#endif
