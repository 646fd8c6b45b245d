// SPDX-License-Identifier: Apache-2.0
/// RocksDB: its defaults, two background threads, a Bloom filter, and a block cache of the size
/// that all engines get. A second variant checks whether a key exists before it writes it, which
/// the other engines' writes find out anyway.
#ifdef FRESHET_HAS_ROCKSDB
#include "freshet/bench/engines/engine.h"

#include <rocksdb/cache.h>
#include <rocksdb/db.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/options.h>
#include <rocksdb/table.h>
#include <rocksdb/write_batch.h>

namespace freshet::bench {
namespace {

Status statusOf(const rocksdb::Status& status) {
    return status.ok()           ? Status::ok()
           : status.IsNotFound() ? Status(Code::kNotFound, "")
                                 : Status(Code::kIo, status.ToString());
}

rocksdb::Slice sliceOf(ByteView bytes) {
    return {bytes.data(), bytes.size()};
}

ByteView viewOf(const rocksdb::Slice& slice) {
    return {slice.data(), slice.size()};
}

/// The memtables share the memory with the block cache: up to four of them, together a quarter of
/// it, each at most the usual 64 MiB.
rocksdb::Options optionsOf(const EngineSetup& setup) {
    constexpr uint64_t kMemtables = 4;
    const uint64_t cacheBytes = setup.cacheMb << 20;
    rocksdb::Options options;
    options.create_if_missing = true;
    options.IncreaseParallelism(2);
    options.compression = rocksdb::kNoCompression;
    options.max_write_buffer_number = kMemtables;
    options.write_buffer_size = std::min<uint64_t>(64u << 20, cacheBytes / (4 * kMemtables));
    options.use_direct_reads = setup.directIo;
    options.use_direct_io_for_flush_and_compaction = setup.directIo;
    // nosync: records collect in the log's own buffer instead of one write(2) each.
    options.manual_wal_flush = setup.durability == LogLevel::kNoSync;
    rocksdb::BlockBasedTableOptions table;
    table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
    table.block_cache = rocksdb::NewLRUCache(cacheBytes - kMemtables * options.write_buffer_size);
    options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
    return options;
}

rocksdb::WriteOptions writeOptionsOf(LogLevel level) {
    rocksdb::WriteOptions options;
    options.disableWAL = level == LogLevel::kNone;
    options.sync = level == LogLevel::kSync;
    return options;
}

/// Whether a write first asks if the key exists.
enum class Puts { kBlindly, kAsking };

class RocksDbSession final : public EngineSession {
public:
    RocksDbSession(Engine* engine, rocksdb::DB* database, LogLevel level, Puts puts)
        : EngineSession(engine),
          database_(*database),
          writing_(writeOptionsOf(level)),
          puts_(puts) {}

    /// Reads into a pinned slice: the value stays in the block cache, nothing is copied.
    Status read(ByteView key, ValueTaker* taker) override {
        const Status status = find(key);
        if (status.isOk()) {
            taker->take(viewOf(found_));
        }
        found_.Reset();
        return status;
    }

    Status write(ByteView key, ByteView value) override {
        if (puts_ == Puts::kAsking) {
            const Status status = find(key);
            found_.Reset();
            if (!status.isOk() && status.code() != Code::kNotFound) {
                return status;
            }
        }
        return statusOf(database_.Put(writing_, sliceOf(key), sliceOf(value)));
    }

    Status scan(const EachPair& each) override {
        const std::unique_ptr<rocksdb::Iterator> at(database_.NewIterator(reading_));
        for (at->SeekToFirst(); at->Valid(); at->Next()) {
            each(viewOf(at->key()), viewOf(at->value()));
        }
        return statusOf(at->status());
    }

private:
    Status find(ByteView key) {
        return statusOf(
            database_.Get(reading_, database_.DefaultColumnFamily(), sliceOf(key), &found_));
    }

    rocksdb::DB& database_;
    const rocksdb::ReadOptions reading_;
    const rocksdb::WriteOptions writing_;
    const Puts puts_;
    rocksdb::PinnableSlice found_;
};

class RocksDbEngine final : public Engine {
public:
    RocksDbEngine(rocksdb::DB* database, LogLevel level, Puts puts)
        : database_(database), level_(level), puts_(puts) {}

    StatusOr<std::unique_ptr<EngineSession>> session() override {
        return std::unique_ptr<EngineSession>(
            std::make_unique<RocksDbSession>(this, database_.get(), level_, puts_));
    }

    /// Writes without the log, then compacts to one level of tables, which reads fastest.
    Status fill(uint64_t count, const PairAt& pair) override {
        constexpr uint64_t kBatch = 1'000;
        const rocksdb::WriteOptions unlogged = writeOptionsOf(LogLevel::kNone);
        rocksdb::WriteBatch batch;
        for (uint64_t i = 0; i < count; ++i) {
            ByteView key, value;
            pair(i, &key, &value);
            FRESHET_RETURN_IF_ERROR(statusOf(batch.Put(sliceOf(key), sliceOf(value))));
            if (batch.Count() == kBatch || i + 1 == count) {
                FRESHET_RETURN_IF_ERROR(statusOf(database_->Write(unlogged, &batch)));
                batch.Clear();
            }
        }
        return statusOf(database_->CompactRange(rocksdb::CompactRangeOptions(), nullptr, nullptr));
    }

    Status checkpoint() override { return statusOf(database_->Flush(rocksdb::FlushOptions())); }

private:
    const std::unique_ptr<rocksdb::DB> database_;
    const LogLevel level_;
    const Puts puts_;
};

StatusOr<std::unique_ptr<Engine>> openWith(const EngineSetup& setup, Puts puts) {
    rocksdb::DB* database = nullptr;
    FRESHET_RETURN_IF_ERROR(
        statusOf(rocksdb::DB::Open(optionsOf(setup), setup.directory, &database)));
    return std::unique_ptr<Engine>(
        std::make_unique<RocksDbEngine>(database, setup.durability, puts));
}

}  // namespace

StatusOr<std::unique_ptr<Engine>> openRocksDb(const EngineSetup& setup) {
    return openWith(setup, Puts::kBlindly);
}

StatusOr<std::unique_ptr<Engine>> openRocksDbAsking(const EngineSetup& setup) {
    return openWith(setup, Puts::kAsking);
}

}  // namespace freshet::bench
#endif
