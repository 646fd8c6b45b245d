// SPDX-License-Identifier: Apache-2.0
/// Statements of insert, update, delete and findAndModify: from their fields to an operation of
/// query's. For the commands themselves, bulkWrite and explain.
#pragma once

#include "freshet/command/run/invocation.h"
#include "freshet/query/write.h"

#include <memory>
#include <string_view>

namespace freshet::command {

/// An update's `u`: operators, a replacement, or a pipeline.
Status parseChange(const bson::Element& change, query::UpdateRequest* request);

/// Fields that update and bulkWrite name differently.
struct UpdateNames {
    std::string_view filter = "q";
    std::string_view update = "u";
    std::string_view constants = "c";
};
/// Reads the fields of one update. Errors of their types go to `fields`; then checkUpdateFields()
/// must be called.
query::UpdateRequest readUpdate(Fields* fields,
                                const UpdateNames& names,
                                const bson::OwnedDocument& variables,
                                query::WriteOptions options);
/// Whether the fields go together; adds those that depend on others to `*request`.
Status checkUpdateFields(Fields* fields, const UpdateNames& names, query::UpdateRequest* request);
/// Reads the fields of one delete, except how many documents it deletes.
query::DeleteRequest readDelete(Fields* fields,
                                std::string_view filterName,
                                const bson::OwnedDocument& variables);

StatusOr<query::UpdateRequest> parseUpdateStatement(bson::Document statement,
                                                    const bson::OwnedDocument& variables,
                                                    query::WriteOptions options);
StatusOr<query::DeleteRequest> parseDeleteStatement(bson::Document statement,
                                                    const bson::OwnedDocument& variables);

/// The statement's operation. Null when `collection` is null: then the statement is only checked.
StatusOr<std::unique_ptr<query::WriteOp>> makeStatement(const query::WorkUnit& unit,
                                                        catalog::CollectionRef collection,
                                                        bson::Document inserted,
                                                        const query::WriteOptions& options);
StatusOr<std::unique_ptr<query::WriteOp>> makeStatement(const query::WorkUnit& unit,
                                                        catalog::CollectionRef collection,
                                                        const query::UpdateRequest& request);
StatusOr<std::unique_ptr<query::WriteOp>> makeStatement(const query::WorkUnit& unit,
                                                        catalog::CollectionRef collection,
                                                        const query::DeleteRequest& request);

/// What findAndModify does: one of the two.
struct FindAndModify {
    bool removes = false;
    query::UpdateRequest update;
    query::DeleteRequest remove;
};
StatusOr<FindAndModify> parseFindAndModify(bson::Document body);

}  // namespace freshet::command
