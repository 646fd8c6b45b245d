// SPDX-License-Identifier: Apache-2.0
/// applyOps: does what entries of an oplog say, for tools that replay one. Each operation is
/// carried out by the command that it corresponds to, one after the other, with the caller's
/// rights.
#include "freshet/bson/json.h"
#include "freshet/command/access/authorize.h"
#include "freshet/command/crud/cursor_reply.h"
#include "freshet/command/run/invocation.h"
#include "freshet/command/run/tables.h"
#include "freshet/command/stream/document_diff.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace freshet::command {
namespace {

constexpr int kNestedMax = 10;
constexpr int kTriesOfDiff = 100;
constexpr int32_t kDuplicateKeyCode = 11000;

/// An element of applyOps, checked. Views point into the command.
struct Operation {
    std::string_view kind;  // "i", "u", "d", "c" or "n"
    std::string db;
    std::string collection;  // "$cmd" of commands
    bson::Document o;
    bson::Document o2;
    bson::Element ui;
    bool upserts = false;
    bson::Document whole;

    std::string ns() const { return db + "." + collection; }
    /// "c": the command's name.
    std::string_view command() const { return o.isEmpty() ? "" : o.begin()->name(); }
    bool isCommand(std::string_view name) const { return kind == "c" && command() == name; }
};

Status illegalOperation(std::string_view what, const bson::Element& element) {
    return invalid(Reason::kIllegalOperation,
                   std::string(what) + ": " + std::string(element.name()));
}

StatusOr<Operation> parseOperation(const bson::Element& element) {
    if (!element.isObject()) {
        return invalid(Reason::kFailedToParse, "op not an object: " + std::string(element.name()));
    }
    Operation operation;
    operation.whole = element.document();
    const bson::Element kind = operation.whole.find("op");
    const bson::Element ns = operation.whole.find("ns");
    if (!kind.isString() || kind.stringValue().empty()) {
        return illegalOperation(kind.isMissing()   ? "op does not contain required \"op\" field"
                                : !kind.isString() ? "\"op\" field is not a string"
                                                   : "\"op\" field value cannot be empty",
                                element);
    }
    operation.kind = kind.stringValue();
    if (operation.kind.size() != 1 ||
        std::string_view("iudcn").find(operation.kind) == std::string_view::npos) {
        return invalid(Reason::kFailedToParse, "Unrecognized opType");
    }
    if (!ns.isString()) {
        return illegalOperation(ns.isMissing() ? "op does not contain required \"ns\" field"
                                               : "\"ns\" field is not a string",
                                element);
    }
    if (operation.kind != "n" && ns.stringValue().empty()) {
        return illegalOperation("\"ns\" field value cannot be empty when op type is not 'n'",
                                element);
    }
    const std::string_view name = ns.stringValue();
    operation.db = std::string(name.substr(0, name.find('.')));
    operation.collection = std::string(name.substr(std::min(operation.db.size() + 1, name.size())));
    const bson::Element o = operation.whole.find("o");
    const bson::Element o2 = operation.whole.find("o2");
    if (operation.kind != "n" && !o.isObject()) {
        return invalid(Reason::kTypeMismatch,
                       "Wrong type for 'o'. Expected a object, got a " +
                           std::string(bson::typeName(o.type())) + ".");
    }
    operation.o = o.isObject() ? o.document() : bson::Document();
    operation.o2 = o2.isObject() ? o2.document() : bson::Document();
    operation.ui = operation.whole.find("ui");
    operation.upserts = operation.whole.find("b").isTruthy();
    return operation;
}

StatusOr<std::vector<Operation>> parseOperations(const bson::Element& list, int depth) {
    if (!list.isArray()) {
        return invalid(Reason::kTypeMismatch,
                       "Wrong type for '" + std::string(list.name()) +
                           "'. Expected a array, got a " +
                           std::string(bson::typeName(list.type())) + ".");
    }
    std::vector<Operation> operations;
    for (const bson::Element& element : list.document()) {
        FRESHET_ASSIGN_OR_RETURN(Operation operation, parseOperation(element));
        if (operation.isCommand("applyOps")) {
            if (depth >= kNestedMax) {
                return invalid(Reason::kFailedToParse, "Too many nested applyOps");
            }
            FRESHET_RETURN_IF_ERROR(parseOperations(*operation.o.begin(), depth + 1).status());
        }
        if (operation.isCommand("dropDatabase") && depth > 0) {
            return invalid(location(9585500), "dropDatabase is not allowed inside nested applyOps");
        }
        operations.push_back(std::move(operation));
    }
    for (const Operation& operation : operations) {
        if (operation.isCommand("dropDatabase") && operations.size() > 1) {
            return invalid(location(6275900), "dropDatabase in an applyOps must be the only entry");
        }
    }
    return operations;
}

Status checkOptions(bson::Document body) {
    if (body.has("prepare")) {
        return badValue("applyOps command can't have 'prepare' field");
    }
    if (body.has("partialTxn")) {
        return invalid(location(31056), "applyOps command can't have 'partialTxn' field.");
    }
    if (body.has("count")) {
        return invalid(location(31240), "applyOps command can't have 'count' field.");
    }
    for (const char* gone : {"alwaysUpsert", "preCondition"}) {
        if (body.find(gone).isTruthy()) {
            return invalid(Reason::kInvalidOptions,
                           "applyOps no longer supports the option '" + std::string(gone) + "'");
        }
    }
    return Status::ok();
}

// ---- Access

/// Without operations, or with commands that others may not be together with.
bool needsEverything(const std::vector<Operation>& operations) {
    bool isMixed = operations.empty();
    for (const Operation& operation : operations) {
        isMixed = isMixed || (operations.size() > 1 && (operation.isCommand("create") ||
                                                        operation.isCommand("renameCollection")));
    }
    return isMixed;
}

Status authorizeEverything(Invocation& call) {
    for (int action = 0; action < static_cast<int>(Action::kCount_); ++action) {
        FRESHET_RETURN_IF_ERROR(authorizeCluster(call, static_cast<Action>(action)));
    }
    return Status::ok();
}

/// Commands are checked once more when they run.
Status authorizeOperation(Invocation& call, const Operation& operation) {
    if (operation.kind == "n") {
        return authorizeCluster(call, Action::kAppendOplogNote);
    }
    if (!operation.ui.isMissing()) {
        FRESHET_RETURN_IF_ERROR(authorizeCluster(call, Action::kUseUUID));
    }
    if (operation.kind == "c") {
        return Status::ok();
    }
    const bool isUpdate = operation.kind == "u";
    if (isUpdate || operation.kind == "d") {
        FRESHET_RETURN_IF_ERROR(authorize(call,
                                          isUpdate ? Action::kUpdate : Action::kRemove,
                                          operation.db,
                                          operation.collection));
    }
    return operation.kind == "i" || (isUpdate && operation.upserts)
               ? authorize(call, Action::kInsert, operation.db, operation.collection)
               : Status::ok();
}

Status authorizeOperations(Invocation& call, const std::vector<Operation>& operations) {
    FRESHET_RETURN_IF_ERROR(authorizeCluster(call, Action::kApplyOps));
    if (needsEverything(operations)) {
        return authorizeEverything(call);
    }
    for (const Operation& operation : operations) {
        FRESHET_RETURN_IF_ERROR(authorizeOperation(call, operation));
    }
    return Status::ok();
}

// ---- The command of an operation

/// A command that runs as a part of this one. It is no coroutine's: g++ 12 would destroy what an
/// early return has not made yet.
class Part {
public:
    static StatusOr<std::unique_ptr<Part>> open(Invocation& call,
                                                std::string db,
                                                bson::OwnedDocument body) {
        const Command* const command = call.services.registry.find(body.view().begin()->name());
        if (command == nullptr || command->name == call.command.name) {
            return invalid(Reason::kFailedToParse, "Unrecognized command in op");
        }
        auto part = std::make_unique<Part>(call, *command, std::move(db), std::move(body));
        FRESHET_RETURN_IF_ERROR(checkKnownFields(*command, part->index_));
        FRESHET_RETURN_IF_ERROR(admitCaller(part->part_));
        return part;
    }
    Part(Invocation& call, const Command& command, std::string db, bson::OwnedDocument body)
        : whole_(call),
          body_(std::move(body)),
          index_(body_.view()),
          generic_(call.generic),
          part_{call.services,
                call.client,
                call.login,
                call.connection,
                command,
                request_,
                index_,
                generic_} {
        request_.body = body_.view();
        generic_.db = std::move(db);
        generic_.txnNumber.reset();
        part_.limits = call.limits;
        part_.stay = call.stay;
        part_.startNanos = call.startNanos;
        part_.deadlineNanos = call.deadlineNanos;
    }

    sync::Task<Status> run() { return part_.command.handler(part_); }

    /// The reply, after run().
    StatusOr<bson::OwnedDocument> end(Status status) {
        whole_.hasTriedToWrite = whole_.hasTriedToWrite || part_.hasTriedToWrite;
        whole_.changesUsers = whole_.changesUsers || part_.changesUsers;
        FRESHET_RETURN_IF_ERROR(std::move(status));
        FRESHET_RETURN_IF_ERROR(checkThatItAsked(part_));
        part_.reply.close();
        return bson::OwnedDocument(bson::Document(part_.message.data() + wire::kOpMsgBodyAt));
    }

private:
    Invocation& whole_;
    const bson::OwnedDocument body_;
    const BodyIndex index_;
    wire::Request request_;
    GenericArguments generic_;
    Invocation part_;
};

/// Runs a command as a part of this one; returns its reply.
sync::Task<StatusOr<bson::OwnedDocument>> runPart(Invocation& call,
                                                  std::string db,
                                                  bson::OwnedDocument body) {
    StatusOr<std::unique_ptr<Part>> part = Part::open(call, std::move(db), std::move(body));
    if (!part.isOk()) {
        co_return part.status();
    }
    Status status = co_await (*part)->run();
    co_return (*part)->end(std::move(status));
}

/// The write error of a statement, as a status. kDuplicateKey keeps its reason.
Status errorOf(bson::Document reply) {
    const bson::Element error = reply.findPath("writeErrors.0");
    if (!error.isObject()) {
        return Status::ok();
    }
    const int64_t code = error.document().find("code").toInt64();
    const std::string text(error.document().find("errmsg").stringValue());
    return code == kDuplicateKeyCode ? Status(Code::kExists, Reason::kDuplicateKey, text)
                                     : invalid(location(static_cast<uint32_t>(code)), text);
}

/// How operations on documents are done.
class DocumentOperation {
public:
    DocumentOperation(Invocation& call, const Operation& operation, bool bypassesValidation)
        : call_(call), operation_(operation), bypassesValidation_(bypassesValidation) {}

    sync::Task<Status> run() {
        const std::string_view kind = operation_.kind;
        const bson::Document identified = kind == "u" ? operation_.o2 : operation_.o;
        if (!identified.has("_id")) {
            co_return invalid(Reason::kNoSuchKey,
                              "Failed to apply " +
                                  std::string(kind == "i"   ? "insert"
                                              : kind == "u" ? "update"
                                                            : "delete") +
                                  " due to missing _id: " + bson::toShellText(operation_.whole));
        }
        Status status = checkCollection();
        if (status.reason() == Reason::kNamespaceNotFound && kind == "d") {
            co_return Status::ok();  // it has been done
        }
        FRESHET_CO_RETURN_IF_ERROR(std::move(status));
        if (kind == "i") {
            co_return co_await insert();
        }
        if (kind == "u") {
            co_return co_await update();
        }
        co_return co_await remove();
    }

private:
    Status checkCollection() const {
        const catalog::CollectionRef found =
            call_.services.catalog.find(operation_.db, operation_.collection);
        const bool isOther = !operation_.ui.isMissing() &&
                             (found == nullptr || operation_.ui.type() != bson::Type::kBinary ||
                              operation_.ui.binaryValue().bytes != ByteView(found->uuid));
        if (isOther) {
            return invalid(
                location(3318200),
                "Namespace '" + operation_.ns() + "' and its UUID point to different collections");
        }
        return found != nullptr
                   ? Status::ok()
                   : invalid(Reason::kNamespaceNotFound,
                             "cannot apply insert or update operation on a non-existent "
                             "namespace " +
                                 operation_.ns() + ": " + bson::toShellText(operation_.whole));
    }

    sync::Task<Status> insert() {
        bson::Builder command;
        command.add("insert", operation_.collection);
        command.array("documents").push(operation_.o);
        addOptions(&command);
        Status status = co_await runWrite(bson::OwnedDocument(command.finish()));
        if (status.reason() != Reason::kDuplicateKey) {
            co_return status;
        }
        // It was inserted before: what is there now is replaced.
        const bson::OwnedDocument id = idOf(operation_.o);
        co_return co_await replace(id.view(), {}, operation_.o, true);
    }

    sync::Task<Status> remove() {
        bson::Builder command;
        command.add("delete", operation_.collection);
        {
            bson::Builder deletes = command.array("deletes");
            bson::Builder one = deletes.object(deletes.nextIndex());
            one.add("q", idOf(operation_.o).view()).add("limit", int32_t{1});
        }
        co_return co_await runWrite(bson::OwnedDocument(command.finish()));
    }

    sync::Task<Status> update() {
        const bson::Document o = operation_.o;
        if (o.find("$v").toInt64() == 2) {
            co_return co_await updateByDiff(o.find("diff"));
        }
        bson::Builder changes;
        for (const bson::Element& field : o) {
            if (field.name() != "$v") {
                changes.add(field);
            }
        }
        const bson::OwnedDocument update(changes.finish());
        bson::Builder command;
        command.add("update", operation_.collection);
        {
            bson::Builder updates = command.array("updates");
            bson::Builder one = updates.object(updates.nextIndex());
            one.add("q", operation_.o2).add("u", update.view()).add("upsert", operation_.upserts);
        }
        addOptions(&command);
        co_return co_await runUpdate(bson::OwnedDocument(command.finish()));
    }

    /// The document is changed only if it is still the one that the diff was applied to.
    sync::Task<Status> updateByDiff(bson::Element diff) {
        if (!diff.isObject()) {
            co_return invalid(Reason::kFailedToParse, "The diff of an oplog entry is no object");
        }
        const bson::OwnedDocument id = idOf(operation_.o2);
        for (int tries = 0; tries < kTriesOfDiff; ++tries) {
            StatusOr<std::optional<bson::OwnedDocument>> before = co_await find(id.view());
            FRESHET_CO_RETURN_IF_ERROR(before.status());
            if (!before->has_value()) {
                break;
            }
            StatusOr<bson::OwnedDocument> after = applyDiff((*before)->view(), diff.document());
            FRESHET_CO_RETURN_IF_ERROR(after.status());
            Status status = co_await replace(id.view(), (*before)->view(), after->view(), false);
            if (status.reason() != Reason::kUpdateOperationFailed) {
                co_return status;
            }
        }
        co_return nothingUpdated();
    }

    sync::Task<StatusOr<std::optional<bson::OwnedDocument>>> find(bson::Document id) {
        bson::Builder command;
        command.add("find", operation_.collection).add("filter", id).add("singleBatch", true);
        StatusOr<bson::OwnedDocument> reply =
            co_await runPart(call_, operation_.db, bson::OwnedDocument(command.finish()));
        if (!reply.isOk()) {
            co_return reply.status();
        }
        const bson::Element found = reply->view().findPath("cursor.firstBatch.0");
        co_return found.isObject()
            ? std::optional<bson::OwnedDocument>(bson::OwnedDocument(found.document()))
            : std::nullopt;
    }

    /// `before`: only if it is this document; {}: whatever it is.
    sync::Task<Status> replace(bson::Document id,
                               bson::Document before,
                               bson::Document after,
                               bool upserts) {
        bson::Builder command;
        command.add("update", operation_.collection);
        {
            bson::Builder updates = command.array("updates");
            bson::Builder one = updates.object(updates.nextIndex());
            {
                bson::Builder filter = one.object("q");
                filter.addFields(id);
                if (!before.isEmpty()) {
                    bson::Builder same = filter.object("$expr");
                    bson::Builder both = same.array("$eq");
                    both.push("$$ROOT");
                    both.object(both.nextIndex()).add("$literal", before);
                }
            }
            {
                bson::Builder pipeline = one.array("u");
                bson::Builder stage = pipeline.object(pipeline.nextIndex());
                stage.object("$replaceWith").add("$literal", after);
            }
            one.add("upsert", upserts);
        }
        addOptions(&command);
        co_return co_await runUpdate(bson::OwnedDocument(command.finish()));
    }

    static bson::OwnedDocument idOf(bson::Document document) {
        bson::Builder id;
        id.object("_id").addAs("$eq", document.find("_id"));
        return bson::OwnedDocument(id.finish());
    }
    void addOptions(bson::Builder* command) const {
        if (bypassesValidation_) {
            command->add("bypassDocumentValidation", true);
        }
    }
    Status nothingUpdated() const {
        return invalid(Reason::kUpdateOperationFailed,
                       "failed to apply update: " + bson::toShellText(operation_.whole));
    }

    sync::Task<Status> runWrite(bson::OwnedDocument command) {
        StatusOr<bson::OwnedDocument> reply =
            co_await runPart(call_, operation_.db, std::move(command));
        co_return reply.isOk() ? errorOf(reply->view()) : reply.status();
    }
    /// kUpdateOperationFailed: there is no such document.
    sync::Task<Status> runUpdate(bson::OwnedDocument command) {
        StatusOr<bson::OwnedDocument> reply =
            co_await runPart(call_, operation_.db, std::move(command));
        FRESHET_CO_RETURN_IF_ERROR(reply.status());
        FRESHET_CO_RETURN_IF_ERROR(errorOf(reply->view()));
        co_return reply->view().find("n").toInt64() > 0 ? Status::ok() : nothingUpdated();
    }

    Invocation& call_;
    const Operation& operation_;
    const bool bypassesValidation_;
};

/// The command as a client would send it. {}: there is nothing to do.
StatusOr<bson::OwnedDocument> commandOf(const Operation& operation) {
    const std::string_view name = operation.command();
    if (name == "startIndexBuild" || name == "abortIndexBuild") {
        return bson::OwnedDocument();  // an index comes into being with commitIndexBuild
    }
    if (name == "create" && !operation.ui.isMissing()) {
        return Status(Code::kUnsupported, "the UUID of a collection cannot be chosen");
    }
    bson::Builder command;
    if (name == "createIndexes" && operation.o.has("key")) {
        command.add(*operation.o.begin());
        bson::Builder indexes = command.array("indexes");
        bson::Builder index = indexes.object(indexes.nextIndex());
        for (const bson::Element& field : operation.o) {
            if (field.name() != name && field.name() != "ns") {
                index.add(field);
            }
        }
    } else if (name == "commitIndexBuild") {
        command.addAs("createIndexes", *operation.o.begin());
        if (const bson::Element indexes = operation.o.find("indexes")) {
            command.add(indexes);
        }
    } else {
        command.addFields(operation.o);
    }
    return bson::OwnedDocument(command.finish());
}

sync::Task<Status> applyOperations(Invocation& call,
                                   std::vector<Operation> operations,
                                   bool bypassesValidation,
                                   bson::Builder* report);

sync::Task<Status> applyCommand(Invocation& call,
                                const Operation& operation,
                                bool bypassesValidation) {
    if (operation.isCommand("applyOps")) {
        StatusOr<std::vector<Operation>> nested = parseOperations(*operation.o.begin(), 1);
        FRESHET_CO_RETURN_IF_ERROR(nested.status());
        FRESHET_CO_RETURN_IF_ERROR(authorizeOperations(call, *nested));
        bson::Builder ignored;
        co_return co_await applyOperations(call, std::move(*nested), bypassesValidation, &ignored);
    }
    StatusOr<bson::OwnedDocument> command = commandOf(operation);
    FRESHET_CO_RETURN_IF_ERROR(command.status());
    if (command->view().isEmpty()) {
        co_return Status::ok();
    }
    std::string db = operation.db;
    if (operation.isCommand("renameCollection")) {
        db = "admin";
    }
    StatusOr<bson::OwnedDocument> reply =
        co_await runPart(call, std::move(db), std::move(*command));
    co_return reply.status();
}

/// Errors of documents are shown among the results, and others are tried all the same; an error of
/// anything else ends the command.
bool endsAll(const Status& status) {
    return !status.isOk() && status.reason() != Reason::kUpdateOperationFailed;
}

sync::Task<Status> applyOperations(Invocation& call,
                                   std::vector<Operation> operations,
                                   bool bypassesValidation,
                                   bson::Builder* report) {
    bson::Builder results;
    int32_t applied = 0;
    bool hasErrors = false;
    Status status;
    for (const Operation& operation : operations) {
        if (operation.kind == "n") {
            continue;
        }
        status = call.checkInterrupt();
        if (status.isOk() && operation.kind == "c") {
            status = co_await applyCommand(call, operation, bypassesValidation);
        } else if (status.isOk()) {
            DocumentOperation document(call, operation, bypassesValidation);
            status = co_await document.run();
        }
        ++applied;
        results.push(status.isOk());
        hasErrors = hasErrors || !status.isOk();
        if (endsAll(status)) {
            break;
        }
    }
    report->add("applied", applied);
    report->addArray("results", bson::OwnedDocument(results.finish()).view());
    if (endsAll(status)) {
        co_return status;
    }
    co_return hasErrors
        ? invalid(Reason::kUnknownError, "applyOps had one or more errors applying ops")
        : Status::ok();
}

sync::Task<Status> runApplyOps(Invocation& call) {
    FRESHET_CO_RETURN_IF_ERROR(authorizeCluster(call, Action::kApplyOps));
    StatusOr<std::vector<Operation>> operations = parseOperations(*call.body().begin(), 0);
    FRESHET_CO_RETURN_IF_ERROR(operations.status());
    FRESHET_CO_RETURN_IF_ERROR(authorizeOperations(call, *operations));
    FRESHET_CO_RETURN_IF_ERROR(checkOptions(call.body()));
    Fields fields(call.body(), "applyOps");
    const bool bypassesValidation = fields.boolean("bypassDocumentValidation", false);
    FRESHET_CO_RETURN_IF_ERROR(fields.status());
    bson::Builder report;
    Status status =
        co_await applyOperations(call, std::move(*operations), bypassesValidation, &report);
    const bson::OwnedDocument reported(report.finish());
    if (status.isOk()) {
        call.reply.addFields(reported.view());
    } else {
        call.errorInfo = reported;
    }
    co_return status;
}

}  // namespace

CommandTable applyOpsCommands() {
    return {{
        .name = "applyOps",
        .aliases = {},
        .help = "do what entries of an oplog say",
        .fields = {"allowAtomic",
                   "alwaysUpsert",
                   "bypassDocumentValidation",
                   "count",
                   "oplogApplicationMode",
                   "partialTxn",
                   "preCondition",
                   "prepare"},
        .handler = runApplyOps,
        .access = Access::byHandler(),
    }};
}

}  // namespace freshet::command
