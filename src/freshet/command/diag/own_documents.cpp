// SPDX-License-Identifier: Apache-2.0
#include "freshet/command/diag/own_documents.h"

#include "freshet/command/access/replica_set_member.h"
#include "freshet/command/background/block_on.h"
#include "freshet/command/oplog/note.h"
#include "freshet/command/retry/session_documents.h"
#include "freshet/platform/clock.h"
#include "freshet/platform/thread.h"
#include "freshet/query/cursor.h"
#include "freshet/query/write.h"
#include "freshet/telemetry/log.h"

#include <ctime>
#include <optional>

namespace freshet::command {
namespace {

constexpr int kDropRacesMax = 16;
/// As many starts are remembered.
constexpr int64_t kStartsKept = 1'000;
constexpr int32_t kSessionSeconds = 30 * 60;

/// Replaces a document or adds it, and makes its collection first. Run it like a WriteOp.
class StoreOwn {
public:
    StoreOwn(Services& services, OwnPlace place, bson::OwnedDocument document)
        : services_(services), place_(std::move(place)), document_(std::move(document)) {}

    Status run() {
        while (true) {
            if (change_ == nullptr && write_ == nullptr) {
                FRESHET_RETURN_IF_ERROR(begin());
            }
            Status status = change_ != nullptr ? change_->run() : write_->run();
            if (status.isWouldBlock()) {
                return status;
            }
            if (change_ != nullptr) {
                change_.reset();
                FRESHET_RETURN_IF_ERROR(std::move(status));
            } else if (status.code() == Code::kCancelled && ++attempts_ < kDropRacesMax) {
                write_.reset();  // the collection was dropped
            } else {
                return status;
            }
        }
    }
    const sync::WaitToken& token() const {
        return change_ != nullptr ? change_->token() : write_->token();
    }
    journal::Lsn commitLsn() const { return write_->commitLsn(); }

private:
    Status begin() {
        catalog::CollectionRef found = services_.catalog.find(place_.db, place_.collection);
        if (found == nullptr) {
            change_ = services_.catalog.createCollection(place_.db, place_.collection, {}, true);
            return Status::ok();
        }
        query::UpdateRequest request;
        bson::Builder filter;
        filter.add(document_.view().find("_id"));
        request.filter = bson::OwnedDocument(filter.finish());
        request.update = document_;
        request.upsert = true;
        FRESHET_ASSIGN_OR_RETURN(
            write_, query::makeUpdate(services_.store, std::move(found), std::move(request)));
        return Status::ok();
    }

    Services& services_;
    const OwnPlace place_;
    const bson::OwnedDocument document_;
    std::unique_ptr<catalog::Change> change_;  // null: the collection exists
    std::unique_ptr<query::WriteOp> write_;
    int attempts_ = 0;
};

/// The documents that the request finds, on a thread that may block.
StatusOr<std::vector<bson::OwnedDocument>> readAll(Services& services,
                                                   const OwnPlace& place,
                                                   query::FindRequest request) {
    std::vector<bson::OwnedDocument> found;
    catalog::CollectionRef collection = services.catalog.find(place.db, place.collection);
    if (collection == nullptr) {
        return found;
    }
    FRESHET_ASSIGN_OR_RETURN(
        std::unique_ptr<query::QueryCursor> cursor,
        query::makeFind(services.store, std::move(collection), std::move(request)));
    query::Batch batch(1, bson::kDocumentBytesMax);
    cursor->attach();
    Status status = cursor->next(&batch);
    while (status.isWouldBlock()) {
        sync::blockOn(cursor->token());
        status = cursor->next(&batch);
    }
    cursor->detach();
    FRESHET_RETURN_IF_ERROR(std::move(status));
    const std::string bytes = batch.finishArray();
    for (const bson::Element& document : bson::Document(bytes.data())) {
        found.emplace_back(document.document());
    }
    return found;
}

/// The document with this _id; an empty one when there is none or it cannot be read.
bson::OwnedDocument readOwn(Services& services, const OwnPlace& place, std::string_view id) {
    query::FindRequest request;
    bson::Builder filter;
    filter.add("_id", id);
    request.filter = bson::OwnedDocument(filter.finish());
    request.limit = 1;
    auto found = readAll(services, place, std::move(request));
    return found.isOk() && !found->empty() ? std::move(found->front()) : bson::OwnedDocument();
}

/// "Sat Nov 28 10:40:18.123", in the server's time zone.
std::string localTimeText(int64_t wallMs) {
    const std::time_t seconds = wallMs / 1'000;
    std::tm parts{};
    localtime_r(&seconds, &parts);
    char text[32];
    const size_t length = std::strftime(text, sizeof(text), "%a %b %e %H:%M:%S", &parts);
    const std::string millis = std::to_string(1'000 + wallMs % 1'000);
    return std::string(text, length) + "." + millis.substr(1);
}

bson::OwnedDocument describeStart(const Services& services) {
    const int64_t now = platform::wallMillis();
    const std::string host = platform::hostName();
    bson::Builder out;
    out.add("_id", host + "-" + std::to_string(now)).add("hostname", host);
    out.add("startTime", bson::Date{now / 1'000 * 1'000});
    out.add("startTimeLocal", localTimeText(now));
    out.add("cmdLine", services.facts.parsedOptions.view());
    out.add("pid", platform::processId());
    {
        auto build = out.object("buildinfo");
        addBuildInfo(services.facts, &build);
    }
    return bson::OwnedDocument(out.finish());
}

/// Deletes what is older than the newest kStartsKept starts.
Status forgetOldStarts(Services& services) {
    query::FindRequest request;
    bson::Builder order;
    order.add("startTime", int32_t{-1});
    request.sort = bson::OwnedDocument(order.finish());
    request.skip = kStartsKept;
    request.limit = 1;
    FRESHET_ASSIGN_OR_RETURN(auto found, readAll(services, kStartPlace, std::move(request)));
    if (found.empty()) {
        return Status::ok();
    }
    query::DeleteRequest deletion;
    bson::Builder filter;
    filter.object("startTime")
        .add("$lte", bson::Date{found.front().view().find("startTime").dateMillis()});
    deletion.filter = bson::OwnedDocument(filter.finish());
    FRESHET_ASSIGN_OR_RETURN(
        std::unique_ptr<query::WriteOp> op,
        query::makeDelete(services.store,
                          services.catalog.find(kStartPlace.db, kStartPlace.collection),
                          std::move(deletion)));
    return blockOnAll(*op);
}

Status recordCompatibility(Services& services) {
    const bson::OwnedDocument stored = readOwn(services, kVersionPlace, kCompatibilityId);
    const std::string version = compatibilityVersion(services);
    const bson::Element known = stored.view().find("version");
    if (known.isString() && known.stringValue() == version) {
        return Status::ok();
    }
    bson::Builder document;
    document.add("_id", kCompatibilityId).add("version", version);
    StoreOwn op(services, kVersionPlace, bson::OwnedDocument(document.finish()));
    return blockOnAll(op);
}

/// Tools look for the collection of sessions. It stays empty: this server keeps them in memory.
Status makeSessionCollection(Services& services) {
    catalog::IndexCounts counts;
    auto change =
        services.catalog.createIndexes("config",
                                       "system.sessions",
                                       {expiryIndex("lastUse", "lsidTTLIndex", kSessionSeconds)},
                                       &counts);
    return blockOnAll(*change);
}

/// The oplog ends where the log is durable. What a member has written of its own is in it when the
/// first client asks: a dump that begins at its end does not meet it.
Status waitForLog(journal::Journal& journal) {
    const journal::Lsn end = journal.tailLsn();
    for (;;) {
        sync::WaitToken token;
        Status status = journal.durable(end, &token);
        if (!status.isWouldBlock()) {
            return status;
        }
        sync::blockOn(token);
    }
}

void warnUnless(const Status& status, const char* what) {
    if (!status.isOk()) {
        telemetry::logWarning("command",
                              std::string("Writing ") + what + " failed: " + status.toString());
    }
}

}  // namespace

std::string compatibilityVersion(const Services& services) {
    const std::string& version = services.facts.version;
    return version.substr(0, version.rfind('.'));
}

sync::Task<Status> storeOwn(Invocation& call, OwnPlace place, bson::OwnedDocument document) {
    call.hasTriedToWrite = true;
    StoreOwn op(call.services, std::move(place), std::move(document));
    Status status = co_await driveToEnd(op);
    FRESHET_CO_RETURN_IF_ERROR(std::move(status));
    journal::Journal& journal = call.services.store.journal();
    const journal::Lsn lsn = op.commitLsn();
    co_return co_await waitUntilDurable(journal, lsn != 0 ? lsn : journal.tailLsn());
}

void loadOwn(Services& services) {
    if (services.facts.replicaSet.empty()) {
        return;
    }
    bson::OwnedDocument config = readOwn(services, kReplicaSetPlace, services.facts.replicaSet);
    if (!config.view().isEmpty()) {
        services.member.setConfig(std::move(config));
    }
    bson::OwnedDocument concerns = readOwn(services, kSettingsPlace, kConcernDefaultsId);
    if (!concerns.view().isEmpty()) {
        services.concerns.set(std::move(concerns));
    }
}

void recordStart(Services& services) {
    StoreOwn start(services, kStartPlace, describeStart(services));
    warnUnless(blockOnAll(start), "local.startup_log");
    warnUnless(forgetOldStarts(services), "local.startup_log");
    warnUnless(recordCompatibility(services), "the feature compatibility version");
    warnUnless(makeSessionCollection(services), "config.system.sessions");
    if (isReplicaSet(services) && !services.store.journal().isOutOfSpace()) {
        writeMemberNote(services.store, "new primary");
        warnUnless(waitForLog(services.store.journal()), "the log");
    }
}

}  // namespace freshet::command
