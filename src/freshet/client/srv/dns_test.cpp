// SPDX-License-Identifier: Apache-2.0
/// From a mongodb+srv:// string to a connection, with DNS and database servers on loopback. The
/// names end in 0.1, because "127.0.0.1" is then a host in that domain which needs no DNS to be
/// found.
#include "freshet/client/srv/dns.h"

#include "freshet/client/pool.h"
#include "freshet/client/scripted_server.h"
#include "freshet/client/srv/scripted_dns.h"
#include "freshet/sync/atomic.h"

#include <gtest/gtest.h>

namespace freshet::client {
namespace {

const std::string kService = "_mongodb._tcp.db.0.1";
const std::string kUri = "mongodb+srv://db.0.1/?tls=false&connectTimeoutMS=20000";

DnsZone zoneOf(std::vector<ConnectionString::HostAndPort> hosts) {
    DnsZone zone;
    zone.services[kService] = std::move(hosts);
    return zone;
}

Surroundings asking(const ScriptedDns& dns) {
    Surroundings around;
    around.dnsServers = dns.address();
    return around;
}

StatusOr<ConnectionString> lookedUp(const std::string& uri, const ScriptedDns& dns) {
    return ConnectionString::parse(uri)->lookedUp(asking(dns));
}

std::string helloOnly(const wire::Request&) {
    return bson::Builder().add("ok", 1.0).finish();
}

TEST(Dns, LeadsToAConnection) {
    ScriptedServer server(helloOnly);
    DnsZone zone = zoneOf({{"127.0.0.1", server.where().port}});
    zone.texts["db.0.1"] = {{"authSource=", "shop"}};
    ScriptedDns dns(zone);
    auto opened = Connection::open(*ConnectionString::parse(kUri), asking(dns));
    ASSERT_TRUE(opened.isOk()) << opened.status().toString();
    const std::string ping = bson::Builder().add("ping", 1).finish();
    EXPECT_TRUE((*opened)->runChecked("admin", bson::Document(ping)).isOk());
    auto where = lookedUp(kUri, dns);
    ASSERT_TRUE(where.isOk()) << where.status().toString();
    EXPECT_EQ(where->whereText(), server.where().whereText());
    EXPECT_EQ(where->authSource, "shop");
}

TEST(Dns, UsesTheServersOfTheEnvironment) {
    ScriptedDns dns(zoneOf({{"127.0.0.1", 5}}));
    ::setenv("FRESHET_DNS_SERVERS", dns.address().c_str(), 1);
    auto where = ConnectionString::parse(kUri)->lookedUp();
    ::unsetenv("FRESHET_DNS_SERVERS");
    ASSERT_TRUE(where.isOk()) << where.status().toString();
    EXPECT_EQ(where->whereText(), "127.0.0.1:5");
}

TEST(Dns, LongAnswersComeByTcp) {
    std::vector<ConnectionString::HostAndPort> hosts;
    for (uint16_t port = 1; port <= 40; ++port) {
        hosts.push_back({"server" + std::to_string(port) + ".0.1", port});
    }
    ScriptedDns dns(zoneOf(hosts));
    auto where = lookedUp(kUri, dns);
    ASSERT_TRUE(where.isOk()) << where.status().toString();
    ASSERT_EQ(where->each().size(), 40u);
    EXPECT_EQ(where->each()[39].whereText(), "server40.0.1:40");
}

TEST(Dns, APoolAsksOnce) {
    ScriptedServer server(helloOnly);
    sync::Atomic<uint32_t> asked{0};
    const DnsZone zone = zoneOf({{"127.0.0.1", server.where().port}});
    ScriptedDns dns([&](const DnsQuery& query) {
        // relaxed: read after the answer, and with it the connection, has come.
        asked.fetch_add(query.type == kDnsSrv ? 1 : 0, sync::kRelaxed);
        return query.reply(zone.records(query.name, query.type));
    });
    PoolOptions options;
    options.where = *ConnectionString::parse(kUri);
    options.around = asking(dns);
    Pool pool(options);
    auto first = pool.checkOut();
    auto second = pool.checkOut();
    EXPECT_TRUE(first.isOk()) << first.status().toString();
    EXPECT_TRUE(second.isOk()) << second.status().toString();
    EXPECT_EQ(pool.stats().made, 2u);
    // relaxed: both answers have come.
    EXPECT_EQ(asked.load(sync::kRelaxed), 1u);
}

TEST(Dns, APoolWhoseNameIsNotFoundHasRoomAgain) {
    ScriptedDns dns(DnsZone{});
    PoolOptions options;
    options.where = *ConnectionString::parse(kUri);
    options.around = asking(dns);
    options.connectionsMax = 1;
    Pool pool(options);
    for (int i = 0; i < 2; ++i) {
        EXPECT_EQ(pool.checkOut().status().code(), Code::kUnavailable);
        EXPECT_EQ(pool.stats().open, 0u);
    }
}

TEST(Dns, AnUnknownNameIsReportedAsSuch) {
    for (size_t flags : {size_t{0x8180}, size_t{0x8183}}) {  // no such records; no such name
        ScriptedDns dns([flags](const DnsQuery& query) { return query.reply({}, flags); });
        const Status status = lookedUp(kUri, dns).status();
        EXPECT_EQ(status.code(), Code::kUnavailable);
        EXPECT_NE(status.text().find("mongodb+srv://db.0.1"), std::string_view::npos);
        EXPECT_NE(status.text().find("no SRV records"), std::string_view::npos) << status.text();
    }
}

TEST(Dns, ARefusalIsNotAnAnswer) {
    ScriptedDns dns([](const DnsQuery& query) { return query.reply({}, 0x8185); });
    EXPECT_EQ(lookedUp(kUri, dns).status().code(), Code::kUnavailable);
}

TEST(Dns, TheTxtQueryMustBeAnsweredToo) {
    const DnsZone zone = zoneOf({{"127.0.0.1", 5}});
    ScriptedDns dns([&zone](const DnsQuery& query) {
        return query.type == kDnsSrv ? query.reply(zone.records(query.name, query.type))
                                     : query.reply({}, 0x8182);
    });
    EXPECT_EQ(lookedUp(kUri, dns).status().code(), Code::kUnavailable);
}

TEST(Dns, SilenceTimesOut) {
    ScriptedDns dns([](const DnsQuery&) { return std::string(); });
    const Status status =
        lookedUp("mongodb+srv://db.0.1/?tls=false&connectTimeoutMS=100", dns).status();
    EXPECT_EQ(status.code(), Code::kTimeout) << status.toString();
}

TEST(Dns, WrongAnswersAreIgnored) {
    const auto first = [](const DnsQuery& query) {
        return query.reply(
            {dnsRecord(kDnsSrv, std::string(4, '\0') + dnsNumber(5) + dnsName("127.0.0.1"))});
    };
    ScriptedDns otherId([&first](const DnsQuery& query) {
        std::string reply = first(query);
        reply[0] = static_cast<char>(reply[0] + 1);
        return reply;
    });
    ScriptedDns otherName([&first](const DnsQuery& query) {
        std::string reply = first(query);
        reply[13] = 'x';
        return reply;
    });
    const std::string uri = "mongodb+srv://db.0.1/?connectTimeoutMS=100";
    EXPECT_EQ(lookedUp(uri, otherId).status().code(), Code::kTimeout);
    EXPECT_EQ(lookedUp(uri, otherName).status().code(), Code::kTimeout);
}

TEST(Dns, BrokenAnswersAreErrors) {
    const std::string whole =
        dnsRecord(kDnsSrv, std::string(4, '\0') + dnsNumber(5) + dnsName("127.0.0.1"));
    for (const std::string& record :
         {whole.substr(0, whole.size() - 3),                               // cut
          dnsRecord(kDnsSrv, "\0\0\0"),                                    // too short
          dnsRecord(kDnsSrv, std::string(6, '\0') + "\xff\xff"),           // a pointer to nowhere
          dnsRecord(kDnsSrv, std::string(6, '\0') + dnsName("a.0.1")),     // port 0
          dnsRecord(kDnsSrv, std::string(4, '\0') + dnsNumber(5) + '\0'),  // no host
          dnsRecord(kDnsSrv, std::string(4, '\0') + dnsNumber(5) + dnsName("\x1b[2J.0.1"))}) {
        ScriptedDns dns([&record](const DnsQuery& query) {
            return query.type == kDnsSrv ? query.reply({record}) : query.reply({});
        });
        const Status status = lookedUp(kUri, dns).status();
        EXPECT_EQ(status.code(), Code::kInvalid) << status.toString();
    }
}

TEST(Dns, RefusesInvalidServers) {
    Surroundings around;
    around.dnsServers = "here";
    EXPECT_EQ(ConnectionString::parse(kUri)->lookedUp(around).status().code(), Code::kInvalid);
}

TEST(Dns, OtherStringsSendNoQueries) {
    auto where = ConnectionString::parse("mongodb://h:5/shop")->lookedUp();
    ASSERT_TRUE(where.isOk());
    EXPECT_EQ(where->whereText(), "h:5");
}

}  // namespace
}  // namespace freshet::client
