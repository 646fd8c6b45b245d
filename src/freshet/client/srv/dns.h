// SPDX-License-Identifier: Apache-2.0
/// The two DNS queries for mongodb+srv://, using c-ares, which implements the protocol: servers
/// from resolv.conf, retries, TCP for replies too long for UDP. Only the form of replies is checked
/// here.
#pragma once

#include "freshet/base/bytes.h"
#include "freshet/client/client.h"

#include <string>
#include <vector>

namespace freshet::client {

/// In the order of the answers.
struct DnsRecords {
    std::vector<ConnectionString::HostAndPort> hosts;  // of SRV records: with characters of host
                                                       // names only
    std::vector<std::string> texts;  // of TXT records, one string for each; any bytes
};

struct DnsQuestion {
    std::string service;    // the name of the SRV records
    std::string domain;     // the name of the TXT records
    std::string servers;    // "address[:port],..."; empty: resolv.conf's
    uint32_t timeoutMs{1};  // for both queries together
};

/// Sends both queries at once. Own thread; blocks no longer than the given time. No records of a
/// kind is not an error. kTimeout; kUnavailable: no server could be asked, or none knew; kInvalid:
/// not a name, not servers, or an unintelligible answer; kCancelled: a signal came, such as Ctrl-C.
StatusOr<DnsRecords> askDns(const DnsQuestion& question);

/// The records in a whole reply; records of other names are left out. kInvalid.
StatusOr<std::vector<ConnectionString::HostAndPort>> readServices(ByteView reply);
StatusOr<std::vector<std::string>> readTexts(ByteView reply);

}  // namespace freshet::client
