// SPDX-License-Identifier: Apache-2.0
/// The two questions that mongodb+srv:// asks of DNS, over c-ares, which does the protocol: servers
/// of resolv.conf, repeating, TCP for what is too long for UDP. What answers say is believed to no
/// more than its form.
#pragma once

#include "freshet/base/bytes.h"
#include "freshet/client/client.h"

#include <string>
#include <vector>

namespace freshet::client {

/// In the order of the answers.
struct DnsRecords {
    std::vector<ConnectionString::Place> places;  // of SRV: only characters of host names in them
    std::vector<std::string> texts;               // of TXT, one for each record; of any bytes
};

struct DnsQuestion {
    std::string service;    // whose SRV records
    std::string domain;     // whose TXT records
    std::string servers;    // "address[:port],..."; empty: those of resolv.conf
    uint32_t timeoutMs{1};  // for both together
};

/// Asks both at once. Own thread; blocks no longer than the time given. No records of a kind are no
/// error. kTimeout; kUnavailable: nobody could be asked, or nobody knew; kInvalid: not a name, not
/// servers, or an answer that cannot be understood; kCancelled: a signal came, such as Ctrl-C.
StatusOr<DnsRecords> askDns(const DnsQuestion& question);

/// The records of a whole reply; others than those asked for are left out. kInvalid.
StatusOr<std::vector<ConnectionString::Place>> readServices(ByteView reply);
StatusOr<std::vector<std::string>> readTexts(ByteView reply);

}  // namespace freshet::client
