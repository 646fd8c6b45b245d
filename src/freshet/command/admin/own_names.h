// SPDX-License-Identifier: Apache-2.0
/// The server's own databases and collections, and what is forbidden on them, whatever the role:
/// users must not be removed or swapped by general commands, or the localhost exception would apply
/// again after the next start. The same holds without --auth. All pure; kInvalid with MongoDB's
/// code and text.
#pragma once

#include "freshet/base/status.h"
#include "freshet/bson/view.h"

#include <string_view>

namespace freshet::command {

/// admin, config and local: what the server keeps for itself.
bool isOwnDatabase(std::string_view db);

/// admin.system.users.
bool isUsersCollection(std::string_view db, std::string_view collection);

Status checkDropDatabase(std::string_view db, bool isReplicaSet);
/// For a collection that exists: a missing one counts as dropped.
Status checkDrop(std::string_view db, std::string_view collection);
/// Either side of a renameCollection.
Status checkRename(std::string_view db, std::string_view collection);
/// `stage`: "$out" or "$merge". Pipelines must not write there.
Status checkPipelineTarget(std::string_view stage,
                           std::string_view db,
                           std::string_view collection);
/// A validator that refuses users would keep administrators from creating any.
Status checkValidatorPlace(std::string_view db,
                           std::string_view collection,
                           const bson::Element& validator);
/// For an index with expireAfterSeconds: users must not expire.
Status checkExpiryPlace(std::string_view db, std::string_view collection);

}  // namespace freshet::command
