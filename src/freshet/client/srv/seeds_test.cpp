// SPDX-License-Identifier: Apache-2.0
/// The examples of the driver specification: its zone, its strings, and the expected results.
#include "freshet/client/srv/seeds.h"

#include "freshet/client/srv/scripted_dns.h"
#include "freshet/client/srv/text.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace freshet::client {
namespace {

const std::string kDomain = "test.build.10gen.cc";

/// The zone that the specification asks testers to set up.
DnsZone specifiedZone() {
    struct Service {
        const char* name;
        const char* target;  // before ".10gen.cc", or with a dot at its end: whole
        std::vector<uint16_t> ports;
    };
    const Service services[] = {
        {"test1", "localhost.test.build", {27017, 27018}},
        {"test2", "localhost.test.build", {27018, 27019}},
        {"test3", "localhost.test.build", {27017}},
        {"test5", "localhost.test.build", {27017}},
        {"test6", "localhost.test.build", {27017}},
        {"test7", "localhost.test.build", {27017}},
        {"test8", "localhost.test.build", {27017}},
        {"test10", "localhost.test.build", {27017}},
        {"test11", "localhost.test.build", {27017}},
        {"test12", "localhost.build", {27017}},
        {"test13", "test.build", {27017}},
        {"test14", "localhost.not-test.build", {27017}},
        {"test15", "localhost.test.not-build", {27017}},
        {"test16", "localhost.test.build.not-10gen.cc.", {27017}},
        {"test17", "localhost.test.build.10gen.not-cc.", {27017}},
        {"test18", "localhost.sub.test.build", {27017}},
        {"test19", "localhost.evil.build", {27017}},
        {"test19", "localhost.test.build", {27017}},
        {"test20", "localhost.test.build", {27017}},
        {"test21", "localhost.test.build", {27017}},
        {"test23", "localhost.test.build", {8000}},
        {"test24", "localhost.test.build", {8000}},
    };
    DnsZone zone;
    for (const Service& service : services) {
        std::string target = service.target;
        target = target.ends_with('.') ? target : target + ".10gen.cc";
        for (uint16_t port : service.ports) {
            zone.services[std::string("_mongodb._tcp.") + service.name + "." + kDomain].push_back(
                {target, port});
        }
    }
    zone.services["_customname._tcp.test22." + kDomain] = {{"localhost." + kDomain, 27017}};
    const std::pair<const char*, std::vector<std::vector<std::string>>> texts[] = {
        {"test5", {{"replicaSet=repl0&authSource=thisDB"}}},
        {"test6", {{"replicaSet=repl0"}, {"authSource=otherDB"}}},
        {"test7", {{"ssl=false"}}},
        {"test8", {{"authSource"}}},
        {"test10", {{"socketTimeoutMS=500"}}},
        {"test11", {{"replicaS", "et=rep", "l0"}}},
        {"test20", {{"loadBalanced=true"}}},
        {"test21", {{"loadBalanced=false"}}},
        {"test24", {{"loadBalanced=true"}}},
    };
    for (const auto& [name, records] : texts) {
        zone.texts[name + ("." + kDomain)] = records;
    }
    return zone;
}

/// The records that DNS would return.
DnsRecords found(const DnsZone& zone, const ConnectionString& where) {
    const std::string domain = lowered(where.service.domain);
    DnsRecords records;
    const auto services = zone.services.find("_" + where.service.name + "._tcp." + domain);
    if (services != zone.services.end()) {
        records.hosts = services->second;
    }
    if (const auto texts = zone.texts.find(domain); texts != zone.texts.end()) {
        for (const std::vector<std::string>& parts : texts->second) {
            std::string& whole = records.texts.emplace_back();
            for (const std::string& part : parts) {
                whole += part;
            }
        }
    }
    return records;
}

StatusOr<ConnectionString> seedsOf(const std::string& uri, uint64_t seed = 1) {
    static const DnsZone zone = specifiedZone();
    FRESHET_ASSIGN_OR_RETURN(const ConnectionString where, ConnectionString::parse(uri));
    return withSeeds(where, found(zone, where), seed);
}

/// Host names without their common domain, then the options.
std::string summary(const std::string& uri) {
    const StatusOr<ConnectionString> where = seedsOf(uri);
    if (!where.isOk()) {
        return "error";
    }
    std::string text;
    for (const ConnectionString& one : where->each()) {
        EXPECT_TRUE(one.host.ends_with("." + kDomain)) << one.host;
        text += one.host.substr(0, one.host.size() - kDomain.size() - 1) + ":" +
                std::to_string(one.port) + " ";
    }
    text += where->tls ? "tls" : "plain";
    text += where->replicaSet.empty() ? "" : " set=" + where->replicaSet;
    text += where->authSource.empty() ? "" : " source=" + where->authSource;
    text += where->loadBalanced ? *where->loadBalanced ? " balanced" : " unbalanced" : "";
    return text;
}

std::string ofHost(const std::string& host, const std::string& rest = "/") {
    return "mongodb+srv://" + host + "." + kDomain + rest;
}

TEST(Seeds, MatchTheSpecificationsExamples) {
    const std::string one = "localhost:27017 ";
    const std::string both = one + "localhost:27018 ";
    const std::pair<std::string, std::string> cases[] = {
        {ofHost("test1", "/some%2Cdb?replicaSet=repl0"), both + "tls set=repl0 source=some,db"},
        {ofHost("test1", "/some,db?replicaSet=repl0"), both + "tls set=repl0 source=some,db"},
        {ofHost("test3", "/?directConnection=false"), one + "tls"},
        {ofHost("test21"), one + "tls unbalanced"},
        {ofHost("test18", "/?replicaSet=repl0"), "localhost.sub:27017 tls set=repl0"},
        {ofHost("test3", "/?replicaSet=repl0"), one + "tls set=repl0"},
        {ofHost("test11"), one + "tls set=repl0"},
        {ofHost("test5"), one + "tls set=repl0 source=thisDB"},
        {ofHost("test22", "/?srvServiceName=customname"), one + "tls"},
        {ofHost("test1", "/?srvMaxHosts=2"), both + "tls"},
        {ofHost("test1", "/?srvMaxHosts=3"), both + "tls"},
        {ofHost("test5", "/?srvMaxHosts=0"), one + "tls set=repl0 source=thisDB"},
        {ofHost("test1", "/?replicaSet=repl0&srvMaxHosts=0"), both + "tls set=repl0"},
        {ofHost("test2", "/?replicaSet=repl0"), "localhost:27018 localhost:27019 tls set=repl0"},
        {ofHost("test5", "/?ssl=false"), one + "plain set=repl0 source=thisDB"},
        {ofHost("test5", "/?authSource=otherDB"), one + "tls set=repl0 source=otherDB"},
        {ofHost("test5", "/aDB"), one + "tls set=repl0 source=thisDB"},
        {ofHost("test1", "/adminDB?replicaSet=repl0"), both + "tls set=repl0 source=adminDB"},
        {"mongodb+srv://TEST1.TEST.BUILD.10GEN.CC", both + "tls"},
        {ofHost("test24", "/?directConnection=false"), "localhost:8000 tls balanced"},
        {ofHost("test24"), "localhost:8000 tls balanced"},
        {ofHost("test24", "/?loadBalanced=false"), "localhost:8000 tls unbalanced"},
        {ofHost("test24", "/?srvMaxHosts=0"), "localhost:8000 tls balanced"},
        {ofHost("test23", "/?loadBalanced=true&srvMaxHosts=0"), "localhost:8000 tls balanced"},
    };
    for (const auto& [uri, expected] : cases) {
        EXPECT_EQ(summary(uri), expected) << uri << ": " << seedsOf(uri).status().toString();
    }
}

TEST(Seeds, AreRefusedAsInTheSpecification) {
    for (const std::string& uri : {
             ofHost("test4"),                           // no records
             ofHost("test4", "/?loadBalanced=true"),    // the same
             std::string("mongodb+srv://10gen.cc/"),    // the same
             ofHost("test24", "/?replicaSet=replset"),  // TXT says loadBalanced
             ofHost("test1", "/?loadBalanced=true"),    // two servers
             ofHost("test24", "/?srvMaxHosts=1"),       // TXT says loadBalanced
             ofHost("test3", "/?loadBalanced=true&srvMaxHosts=1"),
             ofHost("test5", "/?srvMaxHosts=1"),  // TXT says replicaSet
             ofHost("test1", "/?replicaSet=repl0&srvMaxHosts=1"),
             ofHost("test3", "/?directConnection=true"),
             ofHost("test8"),   // an option without a value
             ofHost("test14"),  // other domains, up to test19
             ofHost("test15"),
             ofHost("test16"),
             ofHost("test17"),
             ofHost("test19"),
             ofHost("test13"),
             ofHost("test12"),
             ofHost("test6"),                         // two TXT records
             ofHost("test10", "/?replicaSet=repl0"),  // socketTimeoutMS in TXT
             ofHost("test7"),                         // ssl in TXT
             ofHost("test5", ":8123/?replicaSet=repl0"),
             "mongodb+srv://test5." + kDomain + ",test6." + kDomain + "/?replicaSet=repl0",
         }) {
        EXPECT_EQ(summary(uri), "error") << uri;
    }
}

TEST(Seeds, KeepTheUser) {
    const auto where =
        seedsOf("mongodb+srv://b*b%40f3tt%3D:%244to%40L8%3DMC@test3." + kDomain + "/mydb%3F");
    ASSERT_TRUE(where.isOk()) << where.status().toString();
    EXPECT_EQ(where->username, "b*b@f3tt=");
    EXPECT_EQ(where->password, "$4to@L8=MC");
    EXPECT_EQ(where->database, "mydb?");
    EXPECT_EQ(where->authSource, "mydb?");
}

TEST(Seeds, ARandomSubsetIsTakenOfTooMany) {
    std::set<std::string> taken;
    for (uint64_t seed = 0; seed < 64; ++seed) {
        const auto where = seedsOf(ofHost("test1", "/?srvMaxHosts=1"), seed);
        ASSERT_TRUE(where.isOk()) << where.status().toString();
        EXPECT_EQ(where->each().size(), 1u);
        taken.insert(where->whereText());
    }
    EXPECT_EQ(taken.size(), 2u);  // 64 times the same would be no chance
}

/// A DNS answer that names this server for this domain.
Status named(const std::string& domain, const std::string& server) {
    const ConnectionString where = *ConnectionString::parse("mongodb+srv://" + domain);
    return withSeeds(where, {{{server, 27017}}, {}}, 1).status();
}

TEST(Seeds, AreInTheDomain) {
    EXPECT_TRUE(named("localhost", "a.localhost").isOk());
    EXPECT_TRUE(named("mongo.local", "a.mongo.local").isOk());
    EXPECT_TRUE(named("blogs.mongodb.com", "a.b.mongodb.com").isOk());
    EXPECT_TRUE(named("blogs.mongodb.com", "BLOGS.MongoDB.com").isOk());
    EXPECT_TRUE(named("blogs.mongodb.com.", "blogs.mongodb.com").isOk());
    const std::pair<const char*, const char*> wrong[] = {
        {"localhost", "localhost.mongodb"},
        {"mongo.local", "test_1.evil.local"},
        {"blogs.mongodb.com", "blogs.evil.com"},
        {"localhost", "localhost"},
        {"mongo.local", "mongo.local"},
        {"localhost", "test_1.cluster_1localhost"},
        {"mongo.local", "test_1.my_hostmongo.local"},
        {"blogs.mongodb.com", "cluster.testmongodb.com"},
        {"blogs.mongodb.com", "mongodb.com"},
    };
    for (const auto& [domain, server] : wrong) {
        const Status status = named(domain, server);
        EXPECT_EQ(status.reason(), Reason::kFailedToParse) << domain << " " << server;
        EXPECT_NE(status.text().find(server), std::string_view::npos) << status.text();
    }
}

TEST(Seeds, TxtRecordsAreChecked) {
    const ConnectionString where = *ConnectionString::parse("mongodb+srv://a.b.c/");
    const auto with = [&where](std::string text) {
        return withSeeds(where, {{{"s.b.c", 1}}, {std::move(text)}}, 1).status();
    };
    EXPECT_TRUE(with("").isOk());
    EXPECT_TRUE(with("authsource=a%20b&REPLICASET=x").isOk());
    for (const char* text : {"authSource=",
                             "authSource=%zz",
                             "=x",
                             "&",
                             "loadBalanced=perhaps",
                             "loadBalanced=true&replicaSet=x",
                             "authSource=\x1b[2J",
                             "authSource=\xc3\xa4"}) {
        EXPECT_EQ(with(text).reason(), Reason::kFailedToParse) << text;
    }
}

TEST(Seeds, TooManyAreRefusedUnlessASubsetIsWanted) {
    DnsRecords many;
    for (uint16_t port = 1; port <= 51; ++port) {
        many.hosts.push_back({"s.b.c", port});
    }
    EXPECT_FALSE(withSeeds(*ConnectionString::parse("mongodb+srv://a.b.c"), many, 1).isOk());
    const auto some =
        withSeeds(*ConnectionString::parse("mongodb+srv://a.b.c/?srvMaxHosts=3"), many, 1);
    ASSERT_TRUE(some.isOk()) << some.status().toString();
    EXPECT_EQ(some->each().size(), 3u);
}

}  // namespace
}  // namespace freshet::client
