// SPDX-License-Identifier: Apache-2.0
#include "freshet/command/background/ttl.h"

#include "freshet/platform/clock.h"
#include "freshet/query/write.h"
#include "freshet/telemetry/log.h"

namespace freshet::command {
namespace {

/// A long deletion pauses after so many runs and checks the parameters and shutdown.
constexpr int kRunsPerLook = 8;

}  // namespace

bson::OwnedDocument expiredFilter(const catalog::Index& index, int64_t wallMs) {
    const int64_t seconds = index.expireAfterSeconds.value_or(0);
    if (index.fields.size() != 1 || index.isId() || seconds < 0 || seconds > INT32_MAX) {
        return {};
    }
    // Dates compare only with dates, so other values never expire.
    bson::Builder filter;
    filter.object(index.fields.front().path).add("$lt", bson::Date{wallMs - seconds * 1'000});
    const bson::Element partial = index.spec.view().find("partialFilterExpression");
    if (partial.isObject()) {
        filter.array("$and").push(partial.document());
    }
    return bson::OwnedDocument(filter.finish());
}

uint64_t TtlMonitor::run(uint64_t now) {
    const ParameterValues& values = services_.parameters;
    const auto period =
        static_cast<uint64_t>(ParameterValues::get(values.ttlMonitorSleepSecs)) * 1'000'000'000;
    if (lastPass_ == 0) {
        lastPass_ = now;  // the first pass comes one period after the start
    }
    if (now >= lastPass_ + period) {
        if (mayGoOn()) {
            pass();
        }
        lastPass_ = platform::monotonicNanos();
    }
    return lastPass_ + period;
}

bool TtlMonitor::mayGoOn() const {
    // [shutdown.ttl] ORDER relaxed: only the flag itself counts.
    return !services_.isShuttingDown.load(sync::kRelaxed) && !services_.writeBlock.isLocked() &&
           ParameterValues::get(services_.parameters.ttlMonitorEnabled) != 0;
}

void TtlMonitor::pass() {
    for (const std::string& db : services_.catalog.databases()) {
        for (const catalog::CollectionRef& collection : services_.catalog.collections(db)) {
            for (const auto& index : collection->indexes) {
                if (index->expireAfterSeconds.has_value() && mayGoOn()) {
                    expire(collection, *index);
                }
            }
        }
    }
    services_.statistics.add(Counter::kTtlPasses);
}

void TtlMonitor::expire(const catalog::CollectionRef& collection, const catalog::Index& index) {
    query::DeleteRequest request;
    request.filter = expiredFilter(index, platform::wallMillis());
    if (request.filter.view().isEmpty()) {
        return;
    }
    if (!index.hidden) {  // no plan uses a hidden index: the collection is scanned then
        bson::Builder hint;
        hint.add("", index.name);
        request.hint = bson::OwnedDocument(hint.finish());
    }
    auto deletion = query::makeDelete(services_.store, collection, std::move(request));
    Status status = deletion.status();
    if (deletion.isOk()) {
        int runs = 0;
        status = (*deletion)->run();
        while (status.isWouldBlock() && (++runs % kRunsPerLook != 0 || mayGoOn())) {
            sync::blockOn((*deletion)->token());
            status = (*deletion)->run();
        }
        services_.statistics.add(Counter::kTtlDeleted,
                                 static_cast<uint64_t>((*deletion)->result().matched));
    }
    // A collection dropped meanwhile has nothing left to delete.
    if (!status.isOk() && !status.isWouldBlock() && status.code() != Code::kCancelled) {
        telemetry::logWarning("command",
                              "Deleting expired documents of " + collection->ns() + " by index " +
                                  index.name + " failed: " + status.toString());
    }
}

}  // namespace freshet::command
