// SPDX-License-Identifier: Apache-2.0
/// What becomes of a mongodb+srv:// string by what DNS says of it. No network.
#pragma once

#include "freshet/client/srv/dns.h"

namespace freshet::client {

/// The string with the places that DNS has found, and the options that it may give and the string
/// does not. `seed` chooses among places when there are more than are wanted. kUnavailable: no
/// places; kInvalid (kFailedToParse): places of another domain, options that DNS may not give or
/// that exclude others.
StatusOr<ConnectionString> withSeeds(const ConnectionString& where,
                                     DnsRecords found,
                                     uint64_t seed);

}  // namespace freshet::client
