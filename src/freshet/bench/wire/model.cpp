// SPDX-License-Identifier: Apache-2.0
#include "freshet/bench/wire/model.h"

#include "freshet/base/checksum.h"
#include "freshet/bench/requests.h"
#include "freshet/bench/wire/meter.h"
#include "freshet/client/gridfs.h"
#include "freshet/platform/clock.h"

#include <algorithm>
#include <cstdio>

namespace freshet::bench {
namespace {

constexpr size_t kPartBytes = size_t{1} << 20;

struct Passed {
    uint64_t bytes = 0;
    uint32_t crc = 0;

    void add(ByteView part) {
        bytes += part.size();
        crc = crc32c(part.data(), part.size(), crc);
    }
};

/// One model on one connection.
class ModelRun {
public:
    ModelRun(const WireOptions& options,
             Subject& subject,
             uint64_t bytes,
             const std::string& durability)
        : options_(options), subject_(subject), bytes_(bytes), durability_(durability) {
        bucket_.database = kDatabase;
        bucket_.name = kModelBucket;
        bucket_.durable = durability == "durable";
    }
    Status run();

private:
    Status removeOld();
    StatusOr<Passed> put();
    StatusOr<Passed> get();
    StatusOr<Passed> measure(const char* what, StatusOr<Passed> (ModelRun::*work)());
    void print(const char* what, double seconds, double clientMicros, const ServerWork& work) const;

    const WireOptions& options_;
    Subject& subject_;
    const uint64_t bytes_;
    const std::string durability_;
    const std::string name_ = "model-" + std::to_string(bytes_);
    client::GridFsBucket bucket_;
    std::unique_ptr<client::Connection> connection_;
};

Status ModelRun::run() {
    FRESHET_ASSIGN_OR_RETURN(connection_, subject_.measuredConnection());
    FRESHET_RETURN_IF_ERROR(removeOld());
    FRESHET_ASSIGN_OR_RETURN(Passed sent, measure("model-put", &ModelRun::put));
    FRESHET_ASSIGN_OR_RETURN(Passed received, measure("model-get", &ModelRun::get));
    if (sent.bytes != received.bytes || sent.crc != received.crc) {
        return Status(Code::kCorruption, "What came back of " + name_ + " is not what was sent");
    }
    return Status::ok();
}

/// Removes the files of that name left by earlier runs.
Status ModelRun::removeOld() {
    for (;;) {
        auto old = client::GridFsReader::openNewest(*connection_, bucket_, name_);
        if (!old.isOk()) {
            return old.status().code() == Code::kNotFound ? Status::ok() : old.status();
        }
        const bson::Element id = (*old)->file().find("_id");
        if (id.type() != bson::Type::kObjectId) {
            return Status(Code::kExists, name_ + " is there already, and not of our making");
        }
        bson::ObjectId known;
        std::copy_n(id.objectIdBytes().data(), sizeof(known.bytes), known.bytes);
        FRESHET_RETURN_IF_ERROR(client::removeFromGridFs(*connection_, bucket_, known));
    }
}

StatusOr<Passed> ModelRun::put() {
    FRESHET_ASSIGN_OR_RETURN(auto writer, client::GridFsWriter::open(*connection_, bucket_, name_));
    Passed sent;
    FRESHET_RETURN_IF_ERROR(forModelBytes(bytes_, [&](ByteView part) {
        sent.add(part);
        return writer->write(part);
    }));
    FRESHET_RETURN_IF_ERROR(writer->close());
    return sent;
}

StatusOr<Passed> ModelRun::get() {
    FRESHET_ASSIGN_OR_RETURN(auto reader,
                             client::GridFsReader::openNewest(*connection_, bucket_, name_));
    Passed received;
    for (;;) {
        FRESHET_ASSIGN_OR_RETURN(ByteView part, reader->next());
        if (part.empty()) {
            return received;
        }
        received.add(part);
    }
}

StatusOr<Passed> ModelRun::measure(const char* what, StatusOr<Passed> (ModelRun::*work)()) {
    Meter meter(
        subject_.pid(), options_.stages ? &subject_.connection() : nullptr, subject_.isRdma());
    meter.begin();
    const uint64_t begin = platform::monotonicNanos();
    const uint64_t cpuBefore = platform::processCpuMicros();
    FRESHET_ASSIGN_OR_RETURN(Passed passed, (this->*work)());
    const double seconds = static_cast<double>(platform::monotonicNanos() - begin) / 1e9;
    const auto clientMicros = static_cast<double>(platform::processCpuMicros() - cpuBefore);
    print(what, seconds, clientMicros, meter.end([] {}));
    return passed;
}

void ModelRun::print(const char* what,
                     double seconds,
                     double clientMicros,
                     const ServerWork& work) const {
    const double mib = static_cast<double>(bytes_) / (1 << 20);
    char perMib[32] = "null";
    if (work.cpuMicros && mib > 0) {
        std::snprintf(perMib, sizeof(perMib), "%.1f", *work.cpuMicros / mib);
    }
    const std::string server =
        options_.json ? work.json(1, options_.stages) : " (" + work.cpuText(1) + " us)";
    const char* format =
        options_.json ? R"({"op": "%s", "transport": "%s", "clients": 1, "value_bytes": %llu, )"
                        R"("durability": "%s", "seconds": %.4f, "mib_per_s": %.1f, )"
                        R"("server_cpu_us_per_mib": %s%s, "client_cpu_us_per_mib": %.1f})"
                        "\n"
                      : "%-9s %-4s  %llu B  %-7s  %.3f s  %.1f MiB/s  server %s us/MiB%s  "
                        "client %.1f us/MiB\n";
    std::printf(format,
                what,
                subject_.transport().data(),
                static_cast<unsigned long long>(bytes_),
                durability_.c_str(),
                seconds,
                mib / seconds,
                perMib,
                server.c_str(),
                mib > 0 ? clientMicros / mib : 0);
    if (options_.stages && !options_.json) {
        std::printf("      %s\n", work.stagesText(1).c_str());
    }
    std::fflush(stdout);
}

}  // namespace

Status forModelBytes(uint64_t bytes, const std::function<Status(ByteView)>& each) {
    std::string part = valueOf(kPartBytes);
    for (uint64_t at = 0; at < bytes; at += part.size()) {
        storeLe(part.data(), at);
        FRESHET_RETURN_IF_ERROR(
            each(ByteView(part).substr(0, std::min<uint64_t>(part.size(), bytes - at))));
    }
    return Status::ok();
}

Status measureModel(const WireOptions& options,
                    Subject& subject,
                    uint64_t bytes,
                    const std::string& durability) {
    return ModelRun(options, subject, bytes, durability).run();
}

}  // namespace freshet::bench
