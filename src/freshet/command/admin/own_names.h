// SPDX-License-Identifier: Apache-2.0
/// The server's own databases and collections, and what nobody may do to them, whatever the role:
/// users must not go or be put in each other's place by the way, or the localhost exception opens
/// again at the next start. Without --auth the same holds. All pure; kInvalid with MongoDB's code
/// and text.
#pragma once

#include "freshet/base/status.h"
#include "freshet/bson/view.h"

#include <string_view>

namespace freshet::command {

/// admin.system.users.
bool isUsersCollection(std::string_view db, std::string_view collection);

Status checkDropDatabase(std::string_view db, bool isReplicaSet);
/// Of a collection that is there: what is not there counts as dropped.
Status checkDrop(std::string_view db, std::string_view collection);
/// Either side of a renameCollection.
Status checkRename(std::string_view db, std::string_view collection);
/// `stage`: "$out" or "$merge". No pipeline writes there.
Status checkPipelineTarget(std::string_view stage,
                           std::string_view db,
                           std::string_view collection);
/// A validator that refuses users would keep the administrators from making any.
Status checkValidatorPlace(std::string_view db,
                           std::string_view collection,
                           const bson::Element& validator);
/// Of an index with expireAfterSeconds: users do not go by themselves.
Status checkExpiryPlace(std::string_view db, std::string_view collection);

}  // namespace freshet::command
