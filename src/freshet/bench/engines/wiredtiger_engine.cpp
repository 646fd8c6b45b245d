// SPDX-License-Identifier: Apache-2.0
/// WiredTiger, configured as in mongod, but without compression, since no other engine here has
/// any.
#ifdef FRESHET_HAS_WIREDTIGER
#include "freshet/bench/engines/engine.h"

#include <wiredtiger.h>

namespace freshet::bench {
namespace {

constexpr const char* kTable = "table:bench";
/// mongod's settings for a collection's table, without snappy.
constexpr const char* kTableConfig =
    "key_format=u,value_format=u,type=file,memory_page_max=10m,split_pct=90,leaf_value_max=64MB,"
    "checksum=on,allocation_size=4KB,leaf_page_max=32KB,block_compressor=";

/// none: no log at all. nosync: a record stays in the log's buffer until a slot is full, which is
/// what mongod asks of a commit. write and sync: WiredTiger's own per-commit levels. (In mongod,
/// one thread flushes the log when a client waits; Debian's library offers both.)
std::string logConfig(LogLevel level) {
    switch (level) {
        case LogLevel::kNone:
            return "log=(enabled=false)";
        case LogLevel::kNoSync:
            return "log=(enabled=true,archive=true),transaction_sync=(enabled=false)";
        case LogLevel::kWrite:
            return "log=(enabled=true,archive=true),transaction_sync=(enabled=true,method=none)";
        case LogLevel::kSync:
            break;
    }
    return "log=(enabled=true,archive=true),transaction_sync=(enabled=true,method=fsync)";
}

std::string connectionConfig(const EngineSetup& setup) {
    std::string config =
        "create,session_max=1000,eviction=(threads_min=4,threads_max=4),"
        "file_manager=(close_idle_time=100000),statistics=(fast),";
    config += "cache_size=" + std::to_string(setup.cacheMb) + "MB,";
    if (!setup.checkpointsByHand) {
        config += "checkpoint=(wait=60,log_size=2GB),";  // like mongod's checkpoint thread
    }
    if (setup.directIo) {
        config += "direct_io=[data,checkpoint],";
    }
    return config + logConfig(setup.durability);
}

Status wiredTigerStatus(int error, const char* what) {
    return error == 0 ? Status::ok()
                      : Status(error == WT_NOTFOUND ? Code::kNotFound : Code::kIo,
                               std::string(what) + ": " + wiredtiger_strerror(error));
}

WT_ITEM itemOf(ByteView bytes) {
    WT_ITEM item{};
    item.data = bytes.data();
    item.size = bytes.size();
    return item;
}

ByteView viewOf(const WT_ITEM& item) {
    return {static_cast<const char*>(item.data), item.size};
}

/// One WT_SESSION and one cursor for the thread's whole life, like mongod's session cache.
/// Operations are autocommitted, the cheapest transaction that WiredTiger has.
class WiredTigerSession final : public EngineSession {
public:
    WiredTigerSession(Engine* engine, WT_SESSION* session, WT_CURSOR* cursor)
        : EngineSession(engine), session_(session), cursor_(cursor) {}
    ~WiredTigerSession() override { session_->close(session_, nullptr); }

    static StatusOr<std::unique_ptr<WiredTigerSession>> open(Engine* engine, WT_CONNECTION* to) {
        WT_SESSION* session = nullptr;
        FRESHET_RETURN_IF_ERROR(wiredTigerStatus(
            to->open_session(to, nullptr, "isolation=snapshot", &session), "open_session"));
        WT_CURSOR* cursor = nullptr;
        if (int error = session->open_cursor(session, kTable, nullptr, nullptr, &cursor)) {
            session->close(session, nullptr);
            return wiredTigerStatus(error, "open_cursor");
        }
        return std::make_unique<WiredTigerSession>(engine, session, cursor);
    }

    Status read(ByteView key, ValueTaker* taker) override {
        const WT_ITEM sought = itemOf(key);
        cursor_->set_key(cursor_, &sought);
        int error = cursor_->search(cursor_);
        if (error == 0) {
            WT_ITEM value;
            error = cursor_->get_value(cursor_, &value);
            if (error == 0) {
                taker->take(viewOf(value));
            }
        }
        cursor_->reset(cursor_);
        return wiredTigerStatus(error, "search");
    }

    Status write(ByteView key, ByteView value) override {
        const WT_ITEM keyItem = itemOf(key);
        const WT_ITEM valueItem = itemOf(value);
        int error = WT_ROLLBACK;
        while (error == WT_ROLLBACK) {
            cursor_->set_key(cursor_, &keyItem);
            cursor_->set_value(cursor_, &valueItem);
            error = cursor_->insert(cursor_);  // overwrites: the cursor's default
        }
        return wiredTigerStatus(error, "insert");
    }

    Status scan(const EachPair& each) override {
        FRESHET_RETURN_IF_ERROR(
            wiredTigerStatus(session_->begin_transaction(session_, nullptr), "begin"));
        int error = cursor_->reset(cursor_);
        while (error == 0 && (error = cursor_->next(cursor_)) == 0) {
            WT_ITEM key, value;
            error = cursor_->get_key(cursor_, &key);
            error = error == 0 ? cursor_->get_value(cursor_, &value) : error;
            if (error == 0) {
                each(viewOf(key), viewOf(value));
            }
        }
        cursor_->reset(cursor_);
        FRESHET_RETURN_IF_ERROR(
            wiredTigerStatus(session_->commit_transaction(session_, nullptr), "end"));
        return wiredTigerStatus(error == WT_NOTFOUND ? 0 : error, "next");
    }

    /// Begins a transaction of many writes that does not wait for the log.
    Status begin() {
        return wiredTigerStatus(session_->begin_transaction(session_, "sync=false"), "begin");
    }
    Status commit() {
        return wiredTigerStatus(session_->commit_transaction(session_, nullptr), "commit");
    }

private:
    WT_SESSION* const session_;
    WT_CURSOR* const cursor_;
};

class WiredTigerEngine final : public Engine {
public:
    explicit WiredTigerEngine(WT_CONNECTION* connection) : connection_(connection) {}
    ~WiredTigerEngine() override { connection_->close(connection_, nullptr); }

    StatusOr<std::unique_ptr<EngineSession>> session() override {
        FRESHET_ASSIGN_OR_RETURN(auto session, WiredTigerSession::open(this, connection_));
        return std::unique_ptr<EngineSession>(std::move(session));
    }

    Status fill(uint64_t count, const PairAt& pair) override {
        constexpr uint64_t kBatch = 1'000;
        FRESHET_ASSIGN_OR_RETURN(auto session, WiredTigerSession::open(this, connection_));
        for (uint64_t from = 0; from < count; from += kBatch) {
            FRESHET_RETURN_IF_ERROR(session->begin());
            for (uint64_t i = from; i < std::min(from + kBatch, count); ++i) {
                ByteView key, value;
                pair(i, &key, &value);
                FRESHET_RETURN_IF_ERROR(session->write(key, value));
            }
            FRESHET_RETURN_IF_ERROR(session->commit());
        }
        return checkpoint();
    }

    Status checkpoint() override {
        return withSession(
            [](WT_SESSION* session) { return session->checkpoint(session, nullptr); });
    }
    Status createTable() {
        return withSession(
            [](WT_SESSION* session) { return session->create(session, kTable, kTableConfig); });
    }

private:
    template <typename Call>
    Status withSession(Call call) {
        WT_SESSION* session = nullptr;
        FRESHET_RETURN_IF_ERROR(wiredTigerStatus(
            connection_->open_session(connection_, nullptr, nullptr, &session), "open_session"));
        const int error = call(session);
        session->close(session, nullptr);
        return wiredTigerStatus(error, "create or checkpoint");
    }

    WT_CONNECTION* const connection_;
};

}  // namespace

StatusOr<std::unique_ptr<Engine>> openWiredTiger(const EngineSetup& setup) {
    WT_CONNECTION* connection = nullptr;
    FRESHET_RETURN_IF_ERROR(wiredTigerStatus(
        wiredtiger_open(
            setup.directory.c_str(), nullptr, connectionConfig(setup).c_str(), &connection),
        "wiredtiger_open"));
    auto engine = std::make_unique<WiredTigerEngine>(connection);
    FRESHET_RETURN_IF_ERROR(engine->createTable());
    return std::unique_ptr<Engine>(std::move(engine));
}

}  // namespace freshet::bench
#endif
