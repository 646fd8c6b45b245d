// SPDX-License-Identifier: Apache-2.0
/// A DNS server for tests, on loopback, over UDP and TCP: answers from a zone, or with what the
/// test provides.
#pragma once

#include "freshet/base/assert.h"
#include "freshet/base/bytes.h"
#include "freshet/client/client.h"
#include "freshet/platform/thread.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace freshet::client {

/// 16 bits in network byte order.
inline std::string dnsNumber(size_t value) {
    return {static_cast<char>(value >> 8), static_cast<char>(value & 0xff)};
}

/// "a.b" as labels.
inline std::string dnsName(std::string_view name) {
    std::string out;
    while (!name.empty()) {
        const size_t end = std::min(name.find('.'), name.size());
        out += static_cast<char>(end);
        out += name.substr(0, end);
        name.remove_prefix(std::min(end + 1, name.size()));
    }
    return out + '\0';
}

/// One record of a reply, for the name in the query.
inline std::string dnsRecord(size_t type, const std::string& data) {
    return "\xc0\x0c" + dnsNumber(type) + dnsNumber(1) + std::string(4, '\0') +
           dnsNumber(data.size()) + data;
}

inline constexpr size_t kDnsTxt = 16;
inline constexpr size_t kDnsSrv = 33;

struct DnsZone {
    std::map<std::string, std::vector<ConnectionString::HostAndPort>> services;
    /// For each name its records, for each record its strings.
    std::map<std::string, std::vector<std::vector<std::string>>> texts;

    std::vector<std::string> records(const std::string& name, size_t type) const {
        std::vector<std::string> out;
        if (auto found = services.find(name); type == kDnsSrv && found != services.end()) {
            for (const ConnectionString::HostAndPort& server : found->second) {
                out.push_back(dnsRecord(
                    kDnsSrv, std::string(4, '\0') + dnsNumber(server.port) + dnsName(server.host)));
            }
        }
        if (auto found = texts.find(name); type == kDnsTxt && found != texts.end()) {
            for (const std::vector<std::string>& record : found->second) {
                std::string data;
                for (const std::string& part : record) {
                    data += static_cast<char>(part.size()) + part;
                }
                out.push_back(dnsRecord(kDnsTxt, data));
            }
        }
        return out;
    }
};

/// The content of a query.
struct DnsQuery {
    ByteView bytes;
    bool isTcp = false;
    std::string name;  // in lower case as received
    size_t type = 0;

    static DnsQuery of(ByteView bytes, bool isTcp) {
        DnsQuery query{bytes, isTcp, {}, 0};
        size_t at = 12;
        while (at < bytes.size() && bytes[at] != 0) {
            query.name += query.name.empty() ? "" : ".";
            query.name += bytes.substr(at + 1, static_cast<uint8_t>(bytes[at]));
            at += static_cast<uint8_t>(bytes[at]) + 1;
        }
        invariant(at + 5 == bytes.size());
        query.type = static_cast<uint8_t>(bytes[at + 2]);
        return query;
    }

    /// A reply with these records; `flags` 0x8180: success, plus 0x0200: truncated, plus 3: no such
    /// name.
    std::string reply(const std::vector<std::string>& records, size_t flags = 0x8180) const {
        std::string out = std::string(bytes.substr(0, 2)) + dnsNumber(flags) + dnsNumber(1) +
                          dnsNumber(records.size()) + std::string(4, '\0') +
                          std::string(bytes.substr(12));
        for (const std::string& record : records) {
            out += record;
        }
        return out;
    }
};

class ScriptedDns {
public:
    /// The reply's bytes; empty: no reply. Called on the server's one thread.
    using Script = std::function<std::string(const DnsQuery&)>;

    explicit ScriptedDns(Script script) : script_(std::move(script)) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof address;
        auto* plain = reinterpret_cast<sockaddr*>(&address);
        // The port that UDP was given may be in use for TCP: then try another.
        do {
            closeAll();
            address.sin_port = 0;
            udp_ = ::socket(AF_INET, SOCK_DGRAM, 0);
            tcp_ = ::socket(AF_INET, SOCK_STREAM, 0);
            invariant(udp_ >= 0 && tcp_ >= 0 && ::bind(udp_, plain, size) == 0);
            invariant(::getsockname(udp_, plain, &size) == 0);
        } while (::bind(tcp_, plain, size) != 0);
        invariant(::listen(tcp_, 4) == 0 && ::pipe(stop_.data()) == 0);
        port_ = ntohs(address.sin_port);
        thread_ = platform::Thread("dns", [this] { serve(); });
    }
    /// Answers from the zone; over UDP a long answer is truncated.
    explicit ScriptedDns(DnsZone zone)
        : ScriptedDns([zone = std::move(zone)](const DnsQuery& query) {
              const std::string whole = query.reply(zone.records(query.name, query.type));
              constexpr size_t kUdpBytesMax = 512;
              return query.isTcp || whole.size() <= kUdpBytesMax ? whole : query.reply({}, 0x8380);
          }) {}
    ~ScriptedDns() {
        ::close(stop_[1]);
        thread_.join();
        ::close(stop_[0]);
        closeAll();
    }
    ScriptedDns(const ScriptedDns&) = delete;
    ScriptedDns& operator=(const ScriptedDns&) = delete;

    std::string address() const { return "127.0.0.1:" + std::to_string(port_); }

private:
    void closeAll() {
        for (int* one : {&udp_, &tcp_}) {
            if (*one >= 0) {
                ::close(std::exchange(*one, -1));
            }
        }
    }

    void serve() {
        std::array<pollfd, 3> polled = {
            pollfd{udp_, POLLIN, 0}, pollfd{tcp_, POLLIN, 0}, pollfd{stop_[0], POLLIN, 0}};
        while (::poll(polled.data(), polled.size(), -1) >= 0 && polled[2].revents == 0) {
            if (polled[0].revents != 0) {
                serveUdp();
            }
            if (polled[1].revents != 0) {
                serveTcp();
            }
        }
    }

    void serveUdp() {
        std::array<char, 4096> room;
        sockaddr_storage from{};
        socklen_t size = sizeof from;
        auto* plain = reinterpret_cast<sockaddr*>(&from);
        const ssize_t bytes = ::recvfrom(udp_, room.data(), room.size(), 0, plain, &size);
        if (bytes > 0) {
            const std::string reply =
                script_(DnsQuery::of({room.data(), static_cast<size_t>(bytes)}, false));
            if (!reply.empty()) {
                ::sendto(udp_, reply.data(), reply.size(), 0, plain, size);
            }
        }
    }

    /// One query of one connection.
    void serveTcp() {
        const int socket = ::accept(tcp_, nullptr, nullptr);
        std::array<char, 4096> room;
        if (::recv(socket, room.data(), 2, MSG_WAITALL) == 2) {
            const size_t bytes =
                static_cast<uint8_t>(room[0]) * 256u + static_cast<uint8_t>(room[1]);
            if (bytes <= room.size() &&
                ::recv(socket, room.data(), bytes, MSG_WAITALL) == static_cast<ssize_t>(bytes)) {
                std::string reply = script_(DnsQuery::of({room.data(), bytes}, true));
                reply = dnsNumber(reply.size()) + reply;
                ::send(socket, reply.data(), reply.size(), MSG_NOSIGNAL);
            }
        }
        ::close(socket);
    }

    const Script script_;
    int udp_ = -1;
    int tcp_ = -1;
    std::array<int, 2> stop_{-1, -1};
    uint16_t port_ = 0;
    platform::Thread thread_;
};

}  // namespace freshet::client
