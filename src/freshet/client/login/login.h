// SPDX-License-Identifier: Apache-2.0
/// Logging in over a connection that has said hello: the SCRAM conversation, or the certificate
/// that it came with. Own thread.
#pragma once

#include "freshet/client/client.h"

namespace freshet::client {

/// Where the user is kept.
std::string authSourceOf(const ConnectionString& where);
/// "db.user" for hello's saslSupportedMechs: the reply then tells how that user can log in.
std::string userForHello(const ConnectionString& where);
/// Logs in as `where` says, by the best mechanism that `hello` tells of. kInvalid with the server's
/// text when it does not let us in, or cannot prove that it knows us.
Status logIn(Connection& connection, const ConnectionString& where, bson::Document hello);

}  // namespace freshet::client
