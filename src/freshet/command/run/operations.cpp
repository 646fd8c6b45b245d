// SPDX-License-Identifier: Apache-2.0
#include "freshet/command/run/operations.h"

#include "freshet/base/cut_text.h"
#include "freshet/bson/count.h"
#include "freshet/bson/json.h"
#include "freshet/command/dispatcher.h"
#include "freshet/command/run/write_block.h"
#include "freshet/platform/clock.h"
#include "freshet/telemetry/log.h"

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <iterator>
#include <mutex>

namespace freshet::command {
namespace {

constexpr uint64_t kIdsPerBlock = 1'024;
constexpr size_t kValueBytesShown = 1'024;
constexpr size_t kCommandBytesShown = 16 * 1'024;
constexpr size_t kNameBytesShown = 256;
constexpr size_t kMetadataBytesMax = 512;
constexpr size_t kAppNameBytesMax = 128;

/// Commands whose arguments are secrets.
constexpr std::string_view kSecretCommands[] = {
    "authenticate", "createUser", "saslContinue", "saslStart", "updateUser"};

/// "2026-11-21T00:26:57.123+00:00"
std::string isoTime(int64_t wallMs) {
    const std::time_t seconds = static_cast<std::time_t>(wallMs / 1'000);
    std::tm parts{};
    gmtime_r(&seconds, &parts);
    char text[32];
    const size_t length = std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &parts);
    char millis[16];
    std::snprintf(millis, sizeof(millis), ".%03d+00:00", static_cast<int>(wallMs % 1'000));
    return std::string(text, length) + millis;
}

}  // namespace

std::string_view operationKindName(OpKind kind) {
    switch (kind) {
        case OpKind::kInsert:
            return "insert";
        case OpKind::kQuery:
            return "query";
        case OpKind::kUpdate:
            return "update";
        case OpKind::kDelete:
            return "remove";
        case OpKind::kGetMore:
            return "getmore";
        case OpKind::kCommand:
            break;
    }
    return "command";
}

std::string_view collectionOf(const Command& command, bson::Document body) {
    const bson::Element name =
        command.kind == OpKind::kGetMore ? body.find("collection") : *body.begin();
    const bool hasCollection =
        name.isString() &&
        (command.access.scope == Access::Scope::kCollection ||
         command.access.scope == Access::Scope::kByHandler || command.kind != OpKind::kCommand);
    return hasCollection ? name.stringValue() : std::string_view("$cmd");
}

void addUser(std::string_view user, bson::Builder* array) {
    if (const size_t at = user.rfind('@'); at != user.npos) {
        array->object(array->nextIndex())
            .add("user", user.substr(0, at))
            .add("db", user.substr(at + 1));
    }
}

std::string namespaceOf(const Command& command, bson::Document body, std::string_view db) {
    return cutText(std::string(db).append(1, '.').append(collectionOf(command, body)),
                   2 * kNameBytesShown);
}

bson::OwnedDocument presentable(const Command& command, bson::Document body) {
    const bool isSecret =
        std::find(std::begin(kSecretCommands), std::end(kSecretCommands), command.name) !=
        std::end(kSecretCommands);
    bson::Builder out;
    for (const bson::Element& element : body) {
        const size_t bytes = element.value().size();
        const bool isWhole = bytes <= kValueBytesShown && out.size() < kCommandBytesShown;
        const std::string name = cutText(element.name(), kNameBytesShown);
        if (out.size() >= 2 * kCommandBytesShown) {
            break;
        }
        if (isSecret && out.size() > 4) {
            out.add(name, "xxx");
        } else if (isWhole) {
            out.addAs(name, element);
        } else {
            out.add(name, "<" + std::to_string(bytes) + " bytes>");
        }
    }
    return bson::OwnedDocument(out.finish());
}

ConnectionRecord::ConnectionRecord(const ClientFacts& client, sync::Atomic<uint64_t>& idSource)
    : connectionId_(client.connectionId),
      remote_(client.remote),
      transport_(client.transport),
      idSource_(idSource) {}

int32_t ConnectionRecord::nextOperationId() {
    if (nextId_ == idsEnd_) {
        // [operation.ids] ORDER relaxed: only that blocks differ counts.
        nextId_ = idSource_.fetch_add(kIdsPerBlock, sync::kRelaxed);
        idsEnd_ = nextId_ + kIdsPerBlock;
    }
    return static_cast<int32_t>(nextId_++ & INT32_MAX);
}

void ConnectionRecord::begin(RunningOperation operation) {
    operation.id = nextOperationId();
    std::lock_guard<sync::Mutex> lock(mutex_);
    running_ = std::move(operation);
    isHeldUp_ = false;
    // [operation.begin] ORDER relaxed: under the mutex, and only our own executor reads it without.
    interrupt_.store(0, sync::kRelaxed);
}

void ConnectionRecord::end() {
    std::lock_guard<sync::Mutex> lock(mutex_);
    running_ = {};
}

Reason ConnectionRecord::interrupted() const {
    // [operation.interrupted] ORDER relaxed: only the value itself counts; an operation that misses
    // it now sees it at the next step, and a wait is woken.
    return static_cast<Reason>(interrupt_.load(sync::kRelaxed));
}

Status ConnectionRecord::setMetadata(bson::Document metadata) {
    const bson::Element name = metadata.find("application").isObject()
                                   ? metadata.findPath("application.name")
                                   : bson::Element();
    if (name.isString() && name.stringValue().size() > kAppNameBytesMax) {
        return invalid(Reason::kClientMetadataAppNameTooLarge,
                       "The 'application.name' field must be less then or equal to 128 bytes in "
                       "length");
    }
    if (metadata.bytes().size() > kMetadataBytesMax) {
        return invalid(Reason::kClientMetadataDocumentTooLarge,
                       "The client metadata document must be less then or equal to 512 bytes");
    }
    for (const char* field : {"driver", "os"}) {
        if (!metadata.find(field).isObject()) {
            return invalid(Reason::kClientMetadataMissingField,
                           std::string("Missing required sub-document '") + field +
                               "' in the client metadata document");
        }
    }
    {
        std::lock_guard<sync::Mutex> lock(mutex_);
        if (!metadata_.view().isEmpty()) {
            return invalid(Reason::kClientMetadataCannotBeMutated,
                           "The client metadata document may only be sent in the first hello");
        }
        metadata_ = bson::OwnedDocument(metadata);
        appName_ = name.isString() ? std::string(name.stringValue()) : std::string();
    }
    const std::string client = "conn" + std::to_string(connectionId_);
    const telemetry::LogContext context(client);
    telemetry::log(telemetry::Severity::kInfo,
                   telemetry::Component::kNetwork,
                   telemetry::LogId::kClientMetadata,
                   "client metadata",
                   {{"remote", remote_},
                    {"client", client},
                    {"doc", telemetry::JsonText{bson::toJson(metadata)}}});
    return Status::ok();
}

std::string ConnectionRecord::appName() const {
    std::lock_guard<sync::Mutex> lock(mutex_);
    return appName_;
}

void ConnectionRecord::setUser(std::string_view name, std::string_view db) {
    std::lock_guard<sync::Mutex> lock(mutex_);
    userName_ = name;
    userDb_ = db;
}

std::string ConnectionRecord::user() const {
    std::lock_guard<sync::Mutex> lock(mutex_);
    return userNow();
}

void ConnectionRecord::showProgress(uint32_t yields, const query::PlanName& plan) {
    std::lock_guard<sync::Mutex> lock(mutex_);
    running_.yields = yields;
    if (running_.planSummary.empty() && !plan.kind.empty()) {
        running_.planSummary = plan.text();
    }
}

void ConnectionRecord::setWake(sync::WaitToken token) {
    std::lock_guard<sync::Mutex> lock(mutex_);
    isWaiting_ = true;
    if (interrupted() != Reason::kNone) {
        token.complete();
    }
    wake_ = std::move(token);
}

void ConnectionRecord::clearWake() {
    std::lock_guard<sync::Mutex> lock(mutex_);
    isWaiting_ = false;
    wake_ = {};
}

void ConnectionRecord::setScript(query::JavaScript* script) {
    std::lock_guard<sync::Mutex> lock(mutex_);
    script_ = script;
    if (script_ != nullptr && interrupted() != Reason::kNone) {
        script_->interrupt();
    }
}

bool ConnectionRecord::interrupt(int32_t operationId, Reason why) {
    return interruptIf(
        why, [&](const RunningOperation& operation) { return operation.id == operationId; });
}

bool ConnectionRecord::interruptIf(Reason why,
                                   const std::function<bool(const RunningOperation&)>& isMeant) {
    std::lock_guard<sync::Mutex> lock(mutex_);
    if (running_.id == 0 || !isMeant(running_)) {
        return false;
    }
    // [operation.interrupt] ORDER relaxed: see [operation.interrupted]; a wait that begins later
    // takes the mutex and sees it.
    interrupt_.store(static_cast<uint32_t>(why), sync::kRelaxed);
    if (wake_.isSet()) {
        wake_.complete();
    }
    if (script_ != nullptr) {
        script_->interrupt();
    }
    return true;
}

OperationNames ConnectionRecord::running() const {
    std::lock_guard<sync::Mutex> lock(mutex_);
    if (running_.id == 0) {
        return {"", "", connectionId_};
    }
    return {std::string(running_.command->name),
            namespaceOf(*running_.command, running_.body, running_.generic->db),
            connectionId_};
}

bool ConnectionRecord::isActive() const {
    std::lock_guard<sync::Mutex> lock(mutex_);
    return running_.id != 0 && running_.command->name != "hello";
}

void ConnectionRecord::setHeldUp(bool isHeldUp) {
    std::lock_guard<sync::Mutex> lock(mutex_);
    isHeldUp_ = isHeldUp;
}

bool ConnectionRecord::hasWriter() const {
    std::lock_guard<sync::Mutex> lock(mutex_);
    return running_.id != 0 && !isHeldUp_ && isWriter(*running_.command, running_.body);
}

void ConnectionRecord::addClient(bson::Builder* out) const {
    out->add("desc", "conn" + std::to_string(connectionId_));
    bson::addCount(out, "connectionId", static_cast<int64_t>(connectionId_)).add("client", remote_);
    out->add("transport", transport_);  // not mongod's: it has but one
    if (!appName_.empty()) {
        out->add("appName", appName_);
    }
    if (!metadata_.view().isEmpty()) {
        out->add("clientMetadata", metadata_.view());
    }
}

void ConnectionRecord::addUsers(bson::Builder* out) const {
    if (!userDb_.empty()) {
        auto users = out->array("effectiveUsers");
        addUser(userNow(), &users);
    }
}

void ConnectionRecord::addOperation(bson::Builder* out) const {
    const uint64_t nanos = platform::monotonicNanos() - running_.startNanos;
    out->add("opid", running_.id);
    if (!running_.generic->lsid.empty()) {
        out->add("lsid", bson::Document(running_.generic->lsid.data()));
    }
    out->add("secs_running", static_cast<int64_t>(nanos / 1'000'000'000));
    out->add("microsecs_running", static_cast<int64_t>(nanos / 1'000));
    out->add("op", operationKindName(running_.command->kind));
    out->add("ns", namespaceOf(*running_.command, running_.body, running_.generic->db));
    out->add("redacted", false);
    out->add("command", presentable(*running_.command, running_.body).view());
    if (!running_.planSummary.empty()) {
        out->add("planSummary", running_.planSummary);
    }
    out->add("numYields", static_cast<int32_t>(running_.yields));
    if (interrupted() != Reason::kNone) {
        out->add("killPending", true);
    }
    // mongod's term for waiting for a lock: for another transaction, the disk, or a timer.
    out->add("waitingForLock", isWaiting_);
}

bson::OwnedDocument ConnectionRecord::describe(const ShowOperations& show,
                                               std::string_view host) const {
    std::lock_guard<sync::Mutex> lock(mutex_);
    const bool isRunning = running_.id != 0;
    if (!(isRunning ? show.active : show.idleConnections) || !show.isOf(userNow())) {
        return {};
    }
    bson::Builder out;
    out.add("type", "op").add("host", host);
    addClient(&out);
    out.add("active", isRunning);
    out.add("currentOpTime", isoTime(platform::wallMillis()));
    addUsers(&out);
    out.add("threaded", true);
    if (isRunning) {
        addOperation(&out);
    }
    return bson::OwnedDocument(out.finish());
}

std::shared_ptr<ConnectionRecord> Operations::connect(const ClientFacts& client) {
    auto record = std::make_shared<ConnectionRecord>(client, nextIds_);
    std::lock_guard<sync::Mutex> lock(mutex_);
    connections_[client.connectionId] = record;
    return record;
}

void Operations::disconnect(uint64_t connectionId) {
    std::lock_guard<sync::Mutex> lock(mutex_);
    connections_.erase(connectionId);
}

std::vector<std::shared_ptr<ConnectionRecord>> Operations::all() const {
    std::lock_guard<sync::Mutex> lock(mutex_);
    std::vector<std::shared_ptr<ConnectionRecord>> result;
    result.reserve(connections_.size());
    for (const auto& [id, record] : connections_) {
        result.push_back(record);
    }
    return result;
}

bool Operations::hasWriters() const {
    for (const auto& record : all()) {
        if (record->hasWriter()) {
            return true;
        }
    }
    return false;
}

bool Operations::kill(int32_t operationId, const std::optional<std::string>& owner) {
    for (const auto& record : all()) {
        if (owner.has_value() && record->user() != *owner) {
            continue;
        }
        if (record->interrupt(operationId, Reason::kInterrupted)) {
            return true;
        }
    }
    return false;
}

size_t Operations::killIf(Reason why, const std::function<bool(const RunningOperation&)>& isMeant) {
    size_t count = 0;
    for (const auto& record : all()) {
        count += record->interruptIf(why, isMeant) ? 1 : 0;
    }
    return count;
}

}  // namespace freshet::command
