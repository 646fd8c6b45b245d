// SPDX-License-Identifier: Apache-2.0
#include "freshet/shell/load/load.h"

#include "freshet/platform/clock.h"
#include "freshet/platform/thread.h"
#include "freshet/shell/load/template.h"
#include "freshet/shell/process/interrupts.h"

#include <memory>
#include <string>
#include <vector>

namespace freshet::shell {

namespace {

constexpr int64_t kThreadsMax = 256;
constexpr double kSecondsMax = 86'400;
constexpr double kNanosPerSecond = 1e9;
constexpr uint64_t kNanosPerMicro = 1000;

struct Operation {
    std::string kind;
    std::string database;
    bson::Document command;
    bool reads = false;
};

struct Tally {
    uint64_t count = 0;
    uint64_t errors = 0;
    uint64_t nanos = 0;
};

std::string textOf(bson::Document document, std::string_view name) {
    const bson::Element found = document.find(name);
    return found.isString() ? std::string(found.stringValue()) : std::string();
}

StatusOr<std::vector<Operation>> readOperations(bson::Document config) {
    std::vector<Operation> operations;
    if (const bson::Element list = config.find("operations"); list.isArray()) {
        for (const bson::Element& each : list.document()) {
            if (!each.isObject() || !each.document().find("command").isObject()) {
                return badValue("benchRun: an operation is an object with a command");
            }
            const bson::Document given = each.document();
            const bson::Document command = given.find("command").document();
            FRESHET_RETURN_IF_ERROR(checkTemplate(command));
            operations.push_back({textOf(given, "kind"),
                                  textOf(given, "database"),
                                  command,
                                  given.find("reads").isTruthy()});
        }
    }
    return operations.empty()
               ? StatusOr<std::vector<Operation>>(badValue("benchRun: there are no operations"))
               : operations;
}

/// One connection and its thread. Its counts are read after the thread has ended.
class Worker {
public:
    Worker(const std::vector<Operation>& operations,
           std::unique_ptr<client::Connection> connection,
           Draw draw)
        : operations_(operations),
          connection_(std::move(connection)),
          draw_(draw),
          tallies_(operations.size()) {}

    void start(uint64_t due) {
        thread_ = platform::Thread("benchRun", [this, due] { run(due); });
    }
    void join() { thread_.join(); }
    const std::vector<Tally>& tallies() const { return tallies_; }
    const std::string& error() const { return error_; }

private:
    /// The first round is completed in any case, so that a slow disk does not leave out an
    /// operation.
    void run(uint64_t due) {
        for (uint64_t round = 0; !isLost_; ++round) {
            for (size_t at = 0; at < operations_.size() && !isLost_; ++at) {
                if ((round > 0 && platform::monotonicNanos() >= due) || wasInterrupted()) {
                    return;
                }
                runOne(operations_[at], tallies_[at]);
            }
        }
    }

    void runOne(const Operation& operation, Tally& tally) {
        const std::string command = fillTemplate(operation.command, draw_);
        draw_.goOn();
        const uint64_t began = platform::monotonicNanos();
        const Status status = answer(operation, bson::Document(command));
        tally.nanos += platform::monotonicNanos() - began;
        ++tally.count;
        if (!status.isOk()) {
            ++tally.errors;
            isLost_ = status.code() != Code::kInvalid;
            if (error_.empty()) {
                error_ = std::string(status.text());
            }
        }
    }

    Status answer(const Operation& operation, bson::Document command) {
        if (operation.reads) {
            return client::forEach(
                *connection_, operation.database, command, [](bson::Document) { return true; });
        }
        StatusOr<bson::OwnedDocument> reply = connection_->runChecked(operation.database, command);
        if (!reply.isOk()) {
            return std::move(reply).status();
        }
        const bson::Element errors = reply->view().find("writeErrors");
        if (!errors.isArray() || errors.document().isEmpty()) {
            return Status::ok();
        }
        return badValue(textOf(errors.document().begin()->document(), "errmsg"));
    }

    const std::vector<Operation>& operations_;
    std::unique_ptr<client::Connection> connection_;
    Draw draw_;
    std::vector<Tally> tallies_;
    std::string error_;
    bool isLost_ = false;
    platform::Thread thread_;
};

bson::OwnedDocument summary(const std::vector<Operation>& operations,
                            const std::vector<std::unique_ptr<Worker>>& workers,
                            uint64_t elapsedNanos) {
    std::string error;
    std::vector<Tally> sums(operations.size());
    for (const std::unique_ptr<Worker>& worker : workers) {
        for (size_t at = 0; at < sums.size(); ++at) {
            sums[at].count += worker->tallies()[at].count;
            sums[at].errors += worker->tallies()[at].errors;
            sums[at].nanos += worker->tallies()[at].nanos;
        }
        error = error.empty() ? worker->error() : error;
    }
    bson::Builder result;
    result.add("elapsedMicros", static_cast<double>(elapsedNanos / kNanosPerMicro));
    result.add("error", error);
    {
        bson::Builder list = result.array("operations");
        for (size_t at = 0; at < sums.size(); ++at) {
            list.object(list.nextIndex())
                .add("kind", operations[at].kind)
                .add("count", static_cast<double>(sums[at].count))
                .add("errors", static_cast<double>(sums[at].errors))
                .add("micros", static_cast<double>(sums[at].nanos / kNanosPerMicro));
        }
    }
    const std::string bytes = result.finish();
    return bson::OwnedDocument(bson::Document(bytes));
}

}  // namespace

StatusOr<bson::OwnedDocument> runLoad(const client::ConnectionString& where,
                                      bson::Document config) {
    FRESHET_ASSIGN_OR_RETURN(const std::vector<Operation> operations, readOperations(config));
    const int64_t parallel = config.find("parallel").toInt64();
    const double seconds = config.find("seconds").toDouble();
    if (parallel < 1 || parallel > kThreadsMax || !(seconds > 0 && seconds <= kSecondsMax)) {
        return badValue("benchRun: parallel is 1 to 256, seconds above 0 and at most a day");
    }
    std::vector<std::unique_ptr<Worker>> workers;
    for (int64_t number = 0; number < parallel; ++number) {
        FRESHET_ASSIGN_OR_RETURN(std::unique_ptr<client::Connection> connection,
                                 client::Connection::open(where));
        workers.push_back(std::make_unique<Worker>(
            operations,
            std::move(connection),
            Draw(static_cast<uint32_t>(number), static_cast<uint32_t>(parallel))));
    }
    const uint64_t began = platform::monotonicNanos();
    for (const std::unique_ptr<Worker>& worker : workers) {
        worker->start(began + static_cast<uint64_t>(seconds * kNanosPerSecond));
    }
    for (const std::unique_ptr<Worker>& worker : workers) {
        worker->join();
    }
    return summary(operations, workers, platform::monotonicNanos() - began);
}

}  // namespace freshet::shell
