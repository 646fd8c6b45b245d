// SPDX-License-Identifier: Apache-2.0
/// Parsing of connection strings. Options that would lead to another kind of connection than the
/// user asked for (a login mechanism or a compressor that we do not have) are refused rather than
/// ignored.
#include "freshet/client/client.h"
#include "freshet/client/srv/text.h"
#include "freshet/wire/compress.h"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>
#include <iterator>

namespace freshet::client {

namespace {

constexpr std::string_view kScheme = "mongodb://";
constexpr std::string_view kSrvScheme = "mongodb+srv://";

Status fail(std::string text) {
    return invalid(Reason::kFailedToParse, "connection string: " + std::move(text));
}

template <typename T>
bool parseNumber(std::string_view text, T* out) {
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *out);
    return error == std::errc() && end == text.data() + text.size();
}

int hexDigit(char c) {
    uint8_t value = 0;
    return std::from_chars(&c, &c + 1, value, 16).ec == std::errc() ? value : -1;
}

/// Undoes %xx.
StatusOr<std::string> decode(std::string_view text) {
    std::string result;
    for (size_t at = 0; at < text.size(); ++at) {
        if (text[at] != '%') {
            result.push_back(text[at]);
            continue;
        }
        int high = at + 2 < text.size() ? hexDigit(text[at + 1]) : -1;
        int low = at + 2 < text.size() ? hexDigit(text[at + 2]) : -1;
        if (high < 0 || low < 0) {
            return fail("'%' needs two hexadecimal digits after it");
        }
        result.push_back(static_cast<char>(high * 16 + low));
        at += 2;
    }
    return result;
}

/// "host", "host:port", "[::1]", "[::1]:port".
Status parseHost(std::string_view text, ConnectionString::HostAndPort* out) {
    std::string_view host = text;
    if (!text.empty() && text[0] == '[') {
        text.remove_prefix(1);
        host = takeUntil(&text, ']');
        if (!text.empty() && text[0] != ':') {
            return fail("'" + std::string(text) + "' follows the address in brackets");
        }
        text.remove_prefix(text.empty() ? 0 : 1);
    } else {
        host = takeUntil(&text, ':');
    }
    FRESHET_ASSIGN_OR_RETURN(out->host, decode(host));
    if (out->host.empty()) {
        return fail("the host is empty");
    }
    if (!text.empty() && (!parseNumber(text, &out->port) || out->port == 0)) {
        return fail("'" + std::string(text) + "' is not a port");
    }
    return Status::ok();
}

/// One or more hosts, separated by commas.
Status parseHosts(std::string_view text, ConnectionString* out) {
    constexpr size_t kHostsMax = 50;
    ConnectionString::HostAndPort first;
    const bool isList = text.find(',') != std::string_view::npos;
    FRESHET_RETURN_IF_ERROR(parseHost(takeUntil(&text, ','), &first));
    out->host = std::move(first.host);
    out->port = first.port;
    while (isList && out->others.size() < kHostsMax) {
        FRESHET_RETURN_IF_ERROR(parseHost(takeUntil(&text, ','), &out->others.emplace_back()));
        if (text.empty()) {
            return Status::ok();
        }
    }
    return isList ? fail("there are too many hosts") : Status::ok();
}

/// The domain that mongodb+srv:// has in place of the hosts.
Status parseDomain(std::string_view text, ConnectionString* out) {
    in_addr address{};
    FRESHET_ASSIGN_OR_RETURN(std::string& domain = out->service.domain, decode(text));
    if (text.find(',') != std::string_view::npos || text.find(':') != std::string_view::npos) {
        return fail("mongodb+srv takes one domain name, without a port");
    }
    if (!isHostName(domain) || ::inet_pton(AF_INET, domain.c_str(), &address) == 1) {
        return fail("mongodb+srv needs the name of a domain");
    }
    return Status::ok();
}

/// A service name by RFC 6335, of any length: letters and digits, with '-' between them.
bool isServiceName(std::string_view name) {
    constexpr size_t kBytesMax = 62;
    bool hasLetter = false;
    char before = '-';
    for (char c : name) {
        const bool isLetter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        if (!isLetter && (c < '0' || c > '9') && (c != '-' || before == '-')) {
            return false;
        }
        hasLetter = hasLetter || isLetter;
        before = c;
    }
    return hasLetter && before != '-' && name.size() <= kBytesMax;
}

/// srvServiceName and srvMaxHosts. `name` is one of these.
Status parseOfService(const std::string& name, const std::string& value, ConnectionString* out) {
    if (out->service.domain.empty()) {
        return fail(name + " is for mongodb+srv only");
    }
    if (name == "srvmaxhosts") {
        return parseNumber(value, &out->service.hostsMax) ? Status::ok()
                                                          : fail("srvMaxHosts must be a number");
    }
    out->service.name = value;
    return isServiceName(value) ? Status::ok() : fail("'" + value + "' is not a service's name");
}

Status parseCompressors(const std::string& value, ConnectionString* out) {
    std::string_view list = value;
    while (!list.empty()) {
        const std::string_view name = takeUntil(&list, ',');
        if (!wire::compressorNamed(name).isOk()) {
            return fail("there is no compressor '" + std::string(name) + "'");
        }
        out->compressors.emplace_back(name);
    }
    return Status::ok();
}

Status parseRdma(const std::string& value, ConnectionString* out) {
    if (value != "true" && value != "false" && value != "cm") {
        return fail("rdma must be true, false or cm");
    }
    out->rdma = value != "false";
    out->rdmaByCall = value == "cm";
    return Status::ok();
}

Status parseMechanism(const std::string& value, ConnectionString* out) {
    if (value != "SCRAM-SHA-1" && value != "SCRAM-SHA-256" && value != kX509) {
        return fail("authMechanism '" + value + "' is not available");
    }
    out->authMechanism = value;
    return Status::ok();
}

/// Names of options are not case-sensitive.
struct TextOption {
    std::string_view name;
    std::string ConnectionString::*member;
};
constexpr TextOption kTextOptions[] = {
    {"appname", &ConnectionString::appName},
    {"authsource", &ConnectionString::authSource},
    {"replicaset", &ConnectionString::replicaSet},
    {"tlscafile", &ConnectionString::tlsCaFile},
    {"tlscrlfile", &ConnectionString::tlsCrlFile},
    {"tlscertificatekeyfile", &ConnectionString::tlsCertificateKeyFile},
    {"tlscertificatekeyfilepassword", &ConnectionString::tlsCertificateKeyFilePassword},
};
struct FlagOption {
    std::string_view name;
    bool ConnectionString::*member;
};
constexpr FlagOption kFlagOptions[] = {
    {"directconnection", &ConnectionString::directConnection},
    {"retrywrites", &ConnectionString::retryWrites},
    {"tls", &ConnectionString::tls},
    {"ssl", &ConnectionString::tls},
    {"tlsallowinvalidcertificates", &ConnectionString::tlsAllowInvalidCertificates},
    {"tlsallowinvalidhostnames", &ConnectionString::tlsAllowInvalidHostnames},
};

constexpr std::string_view kOfCommands[] = {"journal",
                                            "maxstalenessseconds",
                                            "readconcernlevel",
                                            "readpreference",
                                            "readpreferencetags",
                                            "w",
                                            "wtimeoutms"};

Status parseLoadBalanced(const std::string& value, ConnectionString* out) {
    out->loadBalanced = value == "true";
    return value == "true" || value == "false" ? Status::ok()
                                               : fail("loadBalanced must be true or false");
}

/// Options with rules of their own.
struct SpecialOption {
    std::string_view name;
    Status (*parse)(const std::string& value, ConnectionString* out);
};
constexpr SpecialOption kSpecialOptions[] = {
    {"authmechanism", &parseMechanism},
    {"compressors", &parseCompressors},
    {"loadbalanced", &parseLoadBalanced},
    {"rdma", &parseRdma},
};

Status parseOption(std::string_view option, ConnectionString* out) {
    const std::string name = lowered(takeUntil(&option, '='));
    FRESHET_ASSIGN_OR_RETURN(std::string value, decode(option));
    for (const TextOption& known : kTextOptions) {
        if (name == known.name) {
            out->*known.member = value;
        }
    }
    for (const FlagOption& known : kFlagOptions) {
        if (name == known.name && value != "true" && value != "false") {
            return fail(name + " must be true or false");
        }
        if (name == known.name) {
            out->*known.member = value == "true";
        }
    }
    if (std::find(std::begin(kOfCommands), std::end(kOfCommands), name) != std::end(kOfCommands)) {
        out->ofCommands[name] = value;
    } else if (name == "tlsinsecure" && value == "true") {
        out->tlsAllowInvalidCertificates = out->tlsAllowInvalidHostnames = true;
    } else if (name == "connecttimeoutms" && !parseNumber(value, &out->connectTimeoutMs)) {
        return fail("connectTimeoutMS must be a number of milliseconds");
    } else if (name == "srvservicename" || name == "srvmaxhosts") {
        return parseOfService(name, value, out);
    }
    for (const SpecialOption& known : kSpecialOptions) {
        if (name == known.name) {
            return known.parse(value, out);
        }
    }
    return Status::ok();
}

/// "user[:password]@" before the host.
Status parseUser(std::string_view* text, ConnectionString* out) {
    const size_t hostEnd = std::min(text->find_first_of("/?"), text->size());
    const size_t at = text->substr(0, hostEnd).rfind('@');
    if (at == std::string_view::npos) {
        return Status::ok();
    }
    std::string_view user = text->substr(0, at);
    text->remove_prefix(at + 1);
    if (user.find('@') != std::string_view::npos) {
        return fail("'@' in a user name or password must be written %40");
    }
    FRESHET_ASSIGN_OR_RETURN(out->username, decode(takeUntil(&user, ':')));
    FRESHET_ASSIGN_OR_RETURN(out->password, decode(user));
    if (out->username.empty()) {
        return fail("the user name is empty");
    }
    return user.find(':') == std::string_view::npos ? Status::ok()
                                                    : fail("':' in a password must be written %3A");
}

/// "host[:port][/database][?options]", or with a domain instead of the host.
Status parseRest(std::string_view text, bool isService, ConnectionString* out) {
    size_t question = text.find('?');
    std::string_view options =
        question == std::string_view::npos ? std::string_view() : text.substr(question + 1);
    text = text.substr(0, question);
    const std::string_view hosts = takeUntil(&text, '/');
    FRESHET_RETURN_IF_ERROR(isService ? parseDomain(hosts, out) : parseHosts(hosts, out));
    if (!text.empty()) {
        FRESHET_ASSIGN_OR_RETURN(out->database, decode(text));
        // Unless an option, or DNS, says otherwise.
        (isService ? out->service.database : out->authSource) = out->database;
    }
    while (!options.empty()) {
        FRESHET_RETURN_IF_ERROR(parseOption(takeUntil(&options, '&'), out));
    }
    return out->check();
}

/// A word alone is a database unless it looks like an address.
bool isDatabaseName(std::string_view text) {
    return text != "localhost" && text.find_first_of(".:/[") == std::string_view::npos;
}

}  // namespace

StatusOr<ConnectionString> ConnectionString::parse(std::string_view text) {
    ConnectionString result;
    const bool isService = text.starts_with(kSrvScheme);
    if (isService || text.starts_with(kScheme)) {
        text.remove_prefix(isService ? kSrvScheme.size() : kScheme.size());
        result.tls = isService;  // unless an option says otherwise
        FRESHET_RETURN_IF_ERROR(parseUser(&text, &result));
    } else if (isDatabaseName(text)) {
        if (text.empty()) {
            return fail("it is empty");
        }
        result.database = text;
        result.authSource = text;
        return result;
    }
    if (text.starts_with('/') && !isService) {
        result.host = text;
        return result;
    }
    FRESHET_RETURN_IF_ERROR(parseRest(text, isService, &result));
    return result;
}

Status ConnectionString::check() const {
    const bool isService = !service.domain.empty();
    if (rdma && tls) {
        return fail(std::string("rdma and tls exclude each other: what goes over RDMA is not "
                                "encrypted") +
                    (isService ? "; mongodb+srv needs tls=false" : ""));
    }
    if (directConnection && (isService || !others.empty())) {
        return fail("directConnection=true needs one host, and not mongodb+srv");
    }
    const bool isBalanced = loadBalanced.value_or(false);
    if (isBalanced && (!others.empty() || !replicaSet.empty() || directConnection)) {
        return fail(
            "loadBalanced=true excludes several hosts, replicaSet and directConnection=true");
    }
    if (service.hostsMax > 0 && (isBalanced || !replicaSet.empty())) {
        return fail("srvMaxHosts excludes replicaSet and loadBalanced=true");
    }
    if (rdma && host.starts_with('/')) {
        return fail("rdma needs a network address, not a Unix socket");
    }
    return Status::ok();
}

StatusOr<ConnectionString> ConnectionString::lookedUp() const {
    return lookedUp(Surroundings());
}

std::string ConnectionString::whereText() const {
    const auto textOf = [](const std::string& name, uint16_t number) {
        return name.starts_with('/') ? name : name + ":" + std::to_string(number);
    };
    if (!service.domain.empty()) {
        return service.domain;
    }
    std::string text = textOf(host, port);
    for (const HostAndPort& other : others) {
        text += "," + textOf(other.host, other.port);
    }
    return text;
}

std::vector<ConnectionString> ConnectionString::each() const {
    std::vector<ConnectionString> all = {*this};
    all.front().others.clear();
    for (const HostAndPort& other : others) {
        ConnectionString one = all.front();
        one.host = other.host;
        one.port = other.port;
        all.push_back(std::move(one));
    }
    return all;
}

}  // namespace freshet::client
