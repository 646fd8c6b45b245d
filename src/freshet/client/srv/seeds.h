// SPDX-License-Identifier: Apache-2.0
/// Applies DNS records to a mongodb+srv:// string. No network.
#pragma once

#include "freshet/client/srv/dns.h"

namespace freshet::client {

/// The string with the hosts found in DNS, and with the options that DNS may set and the string
/// does not set. `seed` selects the hosts when there are more than wanted. kUnavailable: no hosts;
/// kInvalid (kFailedToParse): hosts in another domain, options that DNS may not set or that exclude
/// others.
StatusOr<ConnectionString> withSeeds(const ConnectionString& where,
                                     DnsRecords found,
                                     uint64_t seed);

}  // namespace freshet::client
