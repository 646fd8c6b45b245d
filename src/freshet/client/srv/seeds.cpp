// SPDX-License-Identifier: Apache-2.0
#include "freshet/client/srv/seeds.h"

#include "freshet/client/srv/text.h"
#include "freshet/platform/thread.h"

#include <algorithm>
#include <cstdlib>
#include <random>

namespace freshet::client {

namespace {

constexpr size_t kHostsMax = 50;

Status fail(std::string text) {
    return invalid(Reason::kFailedToParse, std::move(text));
}

/// In lower case, without a dot at the end.
std::string plain(std::string_view name) {
    return lowered(name.ends_with('.') ? name.substr(0, name.size() - 1) : name);
}

/// The domain in which the servers must be: the name's parent if the name has three or more parts,
/// else the name itself.
std::string domainOf(const std::string& name) {
    const size_t dot = name.find('.');
    const bool hasThree = dot != std::string::npos && name.find('.', dot + 1) != std::string::npos;
    return hasThree ? name.substr(dot + 1) : name;
}

/// A DNS server must not direct us, with the user's password, to another domain.
Status checkHosts(const std::vector<ConnectionString::HostAndPort>& hosts, std::string_view name) {
    if (hosts.empty()) {
        return Status(Code::kUnavailable, "DNS has no servers for it (no SRV records)");
    }
    const std::string domain = domainOf(plain(name));
    for (const ConnectionString::HostAndPort& server : hosts) {
        if (!plain(server.host).ends_with("." + domain)) {
            return fail("DNS names the server " + server.host + ", which is not in the domain " +
                        domain);
        }
    }
    return Status::ok();
}

/// DNS gives defaults: options in the string win.
Status applyText(const std::string& text, ConnectionString* out) {
    if (std::any_of(text.begin(), text.end(), [](char c) { return c < ' ' || c > '~'; })) {
        return fail("its TXT record has characters that a connection string cannot have");
    }
    for (std::string_view rest = text; !rest.empty();) {
        std::string_view value = takeUntil(&rest, '&');
        const std::string_view name = takeUntil(&value, '=');
        if (value.empty()) {
            return fail("its TXT record has the option '" + std::string(name) +
                        "' without a value");
        }
        const std::string small = lowered(name);
        if (small != "authsource" && small != "replicaset" && small != "loadbalanced") {
            return fail("its TXT record has the option '" + std::string(name) +
                        "', and may have authSource, replicaSet and loadBalanced only");
        }
    }
    FRESHET_ASSIGN_OR_RETURN(const ConnectionString given,
                             ConnectionString::parse("mongodb://dns/?" + text));
    out->authSource = out->authSource.empty() ? given.authSource : out->authSource;
    out->replicaSet = out->replicaSet.empty() ? given.replicaSet : out->replicaSet;
    out->loadBalanced = out->loadBalanced ? out->loadBalanced : given.loadBalanced;
    return Status::ok();
}

void choose(std::vector<ConnectionString::HostAndPort>* hosts, uint32_t most, uint64_t seed) {
    if (most != 0 && most < hosts->size()) {
        std::mt19937_64 chance(seed);
        std::shuffle(hosts->begin(), hosts->end(), chance);
        hosts->resize(most);
    }
}

/// The DNS servers to ask, unless the caller names them.
std::string serversOfEnvironment() {
    const char* servers = std::getenv("FRESHET_DNS_SERVERS");
    return servers == nullptr ? "" : servers;
}

}  // namespace

StatusOr<ConnectionString> ConnectionString::lookedUp(const Surroundings& around) const {
    if (service.domain.empty()) {
        return *this;
    }
    constexpr uint32_t kMillisUnlessGiven = 10'000;
    DnsQuestion question;
    question.service = "_" + service.name + "._tcp." + service.domain;
    question.domain = service.domain;
    question.servers = around.dnsServers.empty() ? serversOfEnvironment() : around.dnsServers;
    question.timeoutMs = connectTimeoutMs == 0 ? kMillisUnlessGiven : connectTimeoutMs;
    StatusOr<DnsRecords> found = askDns(question);
    StatusOr<ConnectionString> result =
        found.isOk() ? withSeeds(*this, std::move(*found), platform::randomSeed())
                     : StatusOr<ConnectionString>(found.status());
    return result.isOk() ? std::move(result)
                         : StatusOr<ConnectionString>(
                               result.status().withContext("mongodb+srv://" + service.domain));
}

StatusOr<ConnectionString> withSeeds(const ConnectionString& where,
                                     DnsRecords found,
                                     uint64_t seed) {
    FRESHET_RETURN_IF_ERROR(checkHosts(found.hosts, where.service.domain));
    if (found.texts.size() > 1) {
        return fail("it has more than one TXT record");
    }
    ConnectionString result = where;
    if (!found.texts.empty()) {
        FRESHET_RETURN_IF_ERROR(applyText(found.texts.front(), &result));
    }
    if (result.authSource.empty()) {
        result.authSource = where.service.database;
    }
    choose(&found.hosts, where.service.hostsMax, seed);
    if (found.hosts.size() > kHostsMax) {
        return fail("DNS has more than " + std::to_string(kHostsMax) +
                    " servers for it; srvMaxHosts takes some of them");
    }
    result.host = std::move(found.hosts.front().host);
    result.port = found.hosts.front().port;
    result.others.assign(found.hosts.begin() + 1, found.hosts.end());
    FRESHET_RETURN_IF_ERROR(result.check());  // still as a string that needs DNS
    result.service = {};
    return result;
}

}  // namespace freshet::client
