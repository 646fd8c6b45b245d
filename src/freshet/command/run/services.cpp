// SPDX-License-Identifier: Apache-2.0
#include "freshet/command/run/services.h"

#include "freshet/base/assert.h"
#include "freshet/command/stream/change_hub.h"
#include "freshet/platform/clock.h"

#include <algorithm>

namespace freshet::command {

namespace {

/// An operation that can spill does so well before it holds more than one operation may.
query::MemoryLimits memoryLimits(const ParameterValues& values, const sync::MemoryPool* pool) {
    const uint64_t most = pool == nullptr ? UINT64_MAX : pool->shareMax() / 4;
    const auto bytes = [most](const sync::Atomic<int64_t>& value) {
        return static_cast<size_t>(
            std::min<uint64_t>(most, static_cast<uint64_t>(ParameterValues::get(value))));
    };
    query::MemoryLimits limits;
    limits.usesDisk = ParameterValues::get(values.allowDiskUseByDefault) != 0;
    limits.sort = bytes(values.sortBytesMax);
    limits.group = bytes(values.groupBytesMax);
    limits.bucketAuto = bytes(values.bucketAutoBytesMax);
    limits.push = bytes(values.pushBytesMax);
    limits.addToSet = bytes(values.addToSetBytesMax);
    return limits;
}

/// Those that the store has replayed; without any, a crash forgets them.
std::shared_ptr<SessionRecords> recordsOf(const ServerFacts& facts) {
    auto records = facts.sessionRecords != nullptr ? facts.sessionRecords : makeSessionRecords();
    records->setBytesMax(
        SessionRecords::bytesMaxFor(facts.memory == nullptr ? 0 : facts.memory->bytesMax()));
    return records;
}

}  // namespace

Services::Services(catalog::Catalog& theCatalog, ServerFacts theFacts)
    : catalog(theCatalog),
      facts(std::move(theFacts)),
      spill(*store.options().files,
            store.options().directory + "/_tmp",
            [this] { return memoryLimits(parameters, memory); }),
      changes(std::make_unique<ChangeHub>(store.journal())),
      records(recordsOf(facts)) {
    ParameterValues::set(parameters.enableTestCommands, facts.enableTestCommands ? 1 : 0);
    ParameterValues::set(parameters.journalCommitInterval, facts.journalCommitIntervalMs);
    ParameterValues::set(parameters.slowOpThresholdMs, facts.slowOpThresholdMs);
    ParameterValues::set(parameters.slowOpSamplePpm,
                         static_cast<int64_t>(facts.slowOpSampleRate * 1'000'000));
    for (const auto& [name, text] : facts.startParameters) {
        bson::Builder holder;
        holder.add("", text);
        const bson::OwnedDocument value(holder.finish());
        const Parameter* parameter = findParameter(name);
        invariant(parameter != nullptr);  // the options were checked
        const Status set = setParameterValue(*parameter, *value.view().begin(), &parameters);
        invariant(set.isOk());
    }
    keepHistory(std::any_of(
        facts.startParameters.begin(), facts.startParameters.end(), [](const auto& parameter) {
            return parameter.first == kSnapshotHistoryParameter;
        }));
}

void Services::keepHistory(bool always) {
    const int64_t seconds = ParameterValues::get(parameters.snapshotHistorySeconds);
    // A standalone knows no times.
    store.keepHistory(static_cast<uint64_t>(seconds), always && !facts.replicaSet.empty());
}

Services::~Services() = default;

std::vector<bson::OwnedDocument> Services::currentOperations(const ShowOperations& show) const {
    std::vector<bson::OwnedDocument> result;
    for (const auto& connection : operations.all()) {
        bson::OwnedDocument one = connection->describe(show, facts.host);
        if (!one.view().isEmpty()) {
            result.push_back(std::move(one));
        }
    }
    return result;
}

void Services::parametersChanged() {
    housekeeping.wake();
}

void Services::expireSessions() {
    const int64_t timeoutMs = int64_t{sessionTimeoutMinutes()} * 60'000;
    const std::unordered_set<std::string> expired =
        sessions.expire(platform::wallMillis() - timeoutMs);
    cursors.killSessions(expired);
    transactions.abortOf(expired);
    records->forgetStored(platform::wallMillis() - SessionRecords::kNeededSeconds * 1'000);
    const uint64_t now = platform::monotonicNanos();
    transactions.forget(now - std::min(now, static_cast<uint64_t>(timeoutMs) * 1'000'000));
}

void OpCounters::add(OpKind kind, uint64_t count) {
    const StripePlace place = StripePlace::mine();
    place.bump(stripes_[place.at].cells[static_cast<size_t>(kind)], count);
}

uint64_t OpCounters::total(OpKind kind) const {
    uint64_t sum = 0;
    for (const Stripe& stripe : stripes_) {
        // [opcounter.total] ORDER relaxed: a sum that may lag.
        sum += stripe.cells[static_cast<size_t>(kind)].load(sync::kRelaxed);
    }
    return sum;
}

}  // namespace freshet::command
