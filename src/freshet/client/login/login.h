// SPDX-License-Identifier: Apache-2.0
/// Logging in over a connection that has said hello: with SCRAM, or with the certificate of the TLS
/// connection. Own thread.
#pragma once

#include "freshet/client/client.h"

namespace freshet::client {

/// The database that the user belongs to.
std::string authSourceOf(const ConnectionString& where);
/// "db.user" for hello's saslSupportedMechs: the reply then lists the user's mechanisms.
std::string userForHello(const ConnectionString& where);
/// Logs in as `where` says, with the best mechanism that `hello` lists. kInvalid with the server's
/// text when it refuses us, or when it cannot prove that it knows the password's keys.
Status logIn(Connection& connection, const ConnectionString& where, bson::Document hello);

}  // namespace freshet::client
