// SPDX-License-Identifier: Apache-2.0
/// findAndModify: an update or delete of one document that returns it. Query does it as one
/// operation: it finds, changes and returns the document in one transaction.
#include "freshet/catalog/writable_names.h"
#include "freshet/command/access/authorize.h"
#include "freshet/command/crud/statements.h"
#include "freshet/command/crud/write_batch.h"
#include "freshet/command/run/tables.h"

namespace freshet::command {
namespace {

Status contradiction(const char* text) {
    return invalid(Reason::kFailedToParse, text);
}

Status checkOptions(Fields* fields, bool removes, const bson::Element& change) {
    if (!removes && change.isMissing()) {
        return contradiction("Either an update or remove=true must be specified");
    }
    if (!removes) {
        return Status::ok();
    }
    if (!change.isMissing()) {
        return contradiction("Cannot specify both an update and remove=true");
    }
    if (fields->boolean("upsert", false)) {
        return contradiction("Cannot specify both upsert=true and remove=true");
    }
    if (fields->has("arrayFilters")) {
        return contradiction("Cannot specify arrayFilters and remove=true");
    }
    if (fields->boolean("new", false)) {
        return contradiction(
            "Cannot specify both new=true and remove=true; 'remove' always returns the deleted "
            "document");
    }
    return Status::ok();
}

}  // namespace

StatusOr<FindAndModify> parseFindAndModify(bson::Document body) {
    Fields fields(body, "findAndModify");
    const bson::Element change = fields.element("update");
    FindAndModify command;
    command.removes = fields.boolean("remove", false);
    const bson::OwnedDocument variables = letOf(&fields);
    const bson::OwnedDocument filter(fields.object("query"));
    const bson::OwnedDocument sort(fields.object("sort"));
    const bson::OwnedDocument shown(fields.object("fields"));
    const bson::OwnedDocument hint = fields.hint();
    fields.refuseCollation();
    FRESHET_RETURN_IF_ERROR(fields.status());
    FRESHET_RETURN_IF_ERROR(checkOptions(&fields, command.removes, change));
    if (command.removes) {
        command.remove = {.filter = filter,
                          .hint = hint,
                          .variables = variables,
                          .justOne = true,
                          .sort = sort,
                          .returning = query::Returning::kBefore,
                          .projection = shown};
        FRESHET_RETURN_IF_ERROR(fields.status());
        return command;
    }
    query::UpdateRequest& update = command.update;
    update.filter = filter;
    update.sort = sort;
    update.hint = hint;
    update.variables = variables;
    update.projection = shown;
    update.arrayFilters = bson::OwnedDocument(fields.array("arrayFilters"));
    update.upsert = fields.boolean("upsert", false);
    update.options = writeOptionsOf(&fields);
    update.returning =
        fields.boolean("new", false) ? query::Returning::kAfter : query::Returning::kBefore;
    FRESHET_RETURN_IF_ERROR(fields.status());
    FRESHET_RETURN_IF_ERROR(parseChange(change, &update));
    return command;
}

namespace {

class OneStatement final : public Statements {
public:
    OneStatement(const query::WorkUnit& unit, FindAndModify command)
        : unit_(unit), command_(std::move(command)) {}

    size_t count() const override { return 1; }
    bool createsCollection(size_t) const override {
        return !command_.removes && command_.update.upsert;
    }
    StatusOr<std::unique_ptr<query::WriteOp>> make(size_t,
                                                   catalog::CollectionRef collection) override {
        return command_.removes ? makeStatement(unit_, std::move(collection), command_.remove)
                                : makeStatement(unit_, std::move(collection), command_.update);
    }
    void succeeded(size_t, const query::WriteResult& result) override { result_ = result; }

    void report(bson::Builder* reply) const {
        {
            auto last = reply->object("lastErrorObject");
            const bool found = result_.matched > 0;
            last.add("n", int32_t{found || result_.upserted ? 1 : 0});
            if (!command_.removes) {
                last.add("updatedExisting", found);
            }
            if (result_.upserted) {
                last.addAs("upserted", result_.upsertedId.view().find("_id"));
            }
        }
        if (result_.value.has_value()) {
            reply->add("value", result_.value->view());
        } else {
            reply->add("value", bson::Null{});
        }
    }

private:
    const query::WorkUnit unit_;
    const FindAndModify command_;
    query::WriteResult result_;
};

sync::Task<Status> runFindAndModify(Invocation& call) {
    FRESHET_CO_RETURN_IF_ERROR(authorizeExplained(call, call.command, call.body()));
    StatusOr<std::string> collection = call.collectionName();
    FRESHET_CO_RETURN_IF_ERROR(collection.status());
    StatusOr<FindAndModify> command = parseFindAndModify(call.body());
    FRESHET_CO_RETURN_IF_ERROR(command.status());
    command->update.options.check = checkOfCollection(call.generic.db, *collection);
    if (command->update.options.bypassValidation) {
        FRESHET_CO_RETURN_IF_ERROR(
            authorize(call, Action::kBypassDocumentValidation, call.generic.db, *collection));
    }
    FRESHET_CO_RETURN_IF_ERROR(catalog::checkWritable(call.generic.db, *collection));
    FRESHET_CO_RETURN_IF_ERROR(checkWriteInTransaction(call, call.ns(*collection), 50781));
    OneStatement statement(call.unit(), *std::move(command));
    StatusOr<std::unique_ptr<RetryableWrite>> retry = co_await beginRetryable(call, 1);
    FRESHET_CO_RETURN_IF_ERROR(retry.status());
    const WriteTarget target{call.generic.db, *collection};
    Outcome outcome = co_await runStatement(call, target, 0, statement, retry->get());
    if (!outcome.status.isOk()) {
        call.errorInfo = std::move(outcome.errorInfo);
        co_return std::move(outcome.status);
    }
    statement.report(&call.reply);
    if (*retry != nullptr) {
        (*retry)->addTo(&call.reply);
    }
    co_return co_await waitForDurability(call, outcome.lsn);
}

}  // namespace

CommandTable findAndModifyCommands() {
    return {{
        .name = "findAndModify",
        .aliases = {"findandmodify"},
        .help = "change one document and give it back",
        .fields = {"query",
                   "sort",
                   "remove",
                   "update",
                   "new",
                   "fields",
                   "upsert",
                   "bypassDocumentValidation",
                   "bypassEmptyTsReplacement",
                   "arrayFilters",
                   "hint",
                   "let",
                   "collation",
                   "stmtId"},
        .handler = runFindAndModify,
        .access = Access::byHandler(),
        .inApiVersion1 = true,
        .isRetryable = true,
        .inTransactions = InTransactions::kStatement,
        .scripts = Command::Scripts::kWhenMentioned,
    }};
}

}  // namespace freshet::command
