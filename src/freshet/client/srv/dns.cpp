// SPDX-License-Identifier: Apache-2.0
#include "freshet/client/srv/dns.h"

#include "freshet/client/srv/text.h"
#include "freshet/platform/clock.h"

#include <ares.h>
#include <ares_nameser.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>

namespace freshet::client {

namespace {

constexpr uint64_t kNanosPerMilli = 1'000'000;

struct Freed {
    void operator()(void* data) const { ares_free_data(data); }
};

template <typename Record>
using Parsed = std::unique_ptr<Record, Freed>;

/// The first of the records that `parser` finds; null: there are none.
template <typename Record>
StatusOr<Parsed<Record>> parse(int (*parser)(const unsigned char*, int, Record**), ByteView reply) {
    Record* first = nullptr;
    const int error = parser(reinterpret_cast<const unsigned char*>(reply.data()),
                             static_cast<int>(reply.size()),
                             &first);
    Parsed<Record> owner(first);
    if (error != ARES_SUCCESS && error != ARES_ENODATA) {
        return invalid(Reason::kFailedToParse,
                       std::string("the DNS answer cannot be read: ") + ares_strerror(error));
    }
    return owner;
}

/// One query and its result.
struct Asked {
    bool isDone = false;
    int status = ARES_SUCCESS;
    std::string reply;

    static void onReply(void* asked, int status, int, unsigned char* bytes, int size) {
        auto* self = static_cast<Asked*>(asked);
        self->isDone = true;
        self->status = status;
        if (status == ARES_SUCCESS) {
            self->reply.assign(reinterpret_cast<const char*>(bytes), static_cast<size_t>(size));
        }
    }
};

/// A conversation with the servers, ended by the destructor.
class Channel {
public:
    Channel() = default;
    ~Channel() {
        if (isOpen_) {
            ares_destroy(channel_);
        }
    }
    Channel(const Channel&) = delete;
    Channel& operator=(const Channel&) = delete;

    Status open(const DnsQuestion& question);
    void ask(const std::string& name, int type, Asked* asked) {
        ares_query(channel_, name.c_str(), ns_c_in, type, &Asked::onReply, asked);
    }
    /// Waits for one step of the conversation, at most that long.
    Status turn(uint64_t nanosMax);

private:
    ares_channel channel_ = nullptr;
    bool isOpen_ = false;
};

Status Channel::open(const DnsQuestion& question) {
    // A query is repeated after t, 2t and 4t, as far as the deadline allows.
    constexpr int kTries = 3;
    constexpr int kUnits = 7;
    static const int initialised = ares_library_init(ARES_LIB_INIT_ALL);
    ares_options options{};
    options.tries = kTries;
    options.timeout = std::max(1, static_cast<int>(question.timeoutMs / kUnits));
    int error = initialised != ARES_SUCCESS
                    ? initialised
                    : ares_init_options(&channel_, &options, ARES_OPT_TRIES | ARES_OPT_TIMEOUTMS);
    if (error != ARES_SUCCESS) {
        return Status(Code::kUnavailable, std::string("DNS: ") + ares_strerror(error));
    }
    isOpen_ = true;
    if (!question.servers.empty() &&
        ares_set_servers_ports_csv(channel_, question.servers.c_str()) != ARES_SUCCESS) {
        return invalid(Reason::kFailedToParse,
                       "'" + question.servers + "' are not DNS servers: address[:port],...");
    }
    return Status::ok();
}

Status Channel::turn(uint64_t nanosMax) {
    std::array<ares_socket_t, ARES_GETSOCK_MAXNUM> sockets{};
    const auto wanted = static_cast<uint32_t>(
        ares_getsock(channel_, sockets.data(), static_cast<int>(sockets.size())));
    std::vector<pollfd> polled;
    for (size_t i = 0; i < sockets.size(); ++i) {
        const bool reads = ARES_GETSOCK_READABLE(wanted, i) != 0;
        const bool writes = ARES_GETSOCK_WRITABLE(wanted, i) != 0;
        if (reads || writes) {
            polled.push_back({sockets[i],
                              static_cast<int16_t>((reads ? POLLIN : 0) | (writes ? POLLOUT : 0)),
                              0});
        }
    }
    const auto most = static_cast<time_t>(nanosMax / kNanosPerMilli + 1);  // milliseconds
    timeval bound{most / 1000, static_cast<suseconds_t>(most % 1000 * 1000)};
    timeval room{};
    const timeval* wait = ares_timeout(channel_, &bound, &room);
    const auto millis = static_cast<int>(wait->tv_sec * 1000 + (wait->tv_usec + 999) / 1000);
    if (::poll(polled.data(), polled.size(), millis) < 0) {
        return errno == EINTR ? Status(Code::kCancelled, "the DNS query was interrupted")
                              : Status(Code::kIo, "cannot wait for DNS");
    }
    for (const pollfd& one : polled) {
        const bool reads = (one.revents & (POLLIN | POLLERR | POLLHUP)) != 0;
        const bool writes = (one.revents & POLLOUT) != 0;
        if (reads || writes) {
            ares_process_fd(
                channel_, reads ? one.fd : ARES_SOCKET_BAD, writes ? one.fd : ARES_SOCKET_BAD);
        }
    }
    ares_process_fd(channel_, ARES_SOCKET_BAD, ARES_SOCKET_BAD);  // ends the unanswered queries
    return Status::ok();
}

/// No such name and no such records are valid, empty answers.
Status judge(const Asked& asked, const std::string& name) {
    switch (asked.status) {
        case ARES_SUCCESS:
        case ARES_ENODATA:
        case ARES_ENOTFOUND:
            return Status::ok();
        case ARES_EBADNAME:
            return invalid(Reason::kFailedToParse, "'" + name + "' cannot be a name in DNS");
        case ARES_ETIMEOUT:
            return Status(Code::kTimeout, "no answer from DNS about " + name);
        default:
            return Status(Code::kUnavailable,
                          "DNS does not answer about " + name + ": " + ares_strerror(asked.status));
    }
}

}  // namespace

StatusOr<DnsRecords> askDns(const DnsQuestion& question) {
    const uint64_t end = platform::monotonicNanos() + question.timeoutMs * kNanosPerMilli;
    Asked services, texts;  // outlive the channel, which ends the queries in progress
    Channel channel;
    FRESHET_RETURN_IF_ERROR(channel.open(question));
    channel.ask(question.service, ns_t_srv, &services);
    channel.ask(question.domain, ns_t_txt, &texts);
    while (!services.isDone || !texts.isDone) {
        const uint64_t now = platform::monotonicNanos();
        if (now >= end) {
            return Status(
                Code::kTimeout,
                "no answer from DNS within " + std::to_string(question.timeoutMs) + " ms");
        }
        FRESHET_RETURN_IF_ERROR(channel.turn(end - now));
    }
    FRESHET_RETURN_IF_ERROR(judge(services, question.service));
    FRESHET_RETURN_IF_ERROR(judge(texts, question.domain));
    DnsRecords records;
    if (!services.reply.empty()) {
        FRESHET_ASSIGN_OR_RETURN(records.hosts, readServices(services.reply));
    }
    if (!texts.reply.empty()) {
        FRESHET_ASSIGN_OR_RETURN(records.texts, readTexts(texts.reply));
    }
    return records;
}

StatusOr<std::vector<ConnectionString::HostAndPort>> readServices(ByteView reply) {
    FRESHET_ASSIGN_OR_RETURN(const Parsed<ares_srv_reply> first,
                             parse(ares_parse_srv_reply, reply));
    std::vector<ConnectionString::HostAndPort> hosts;
    for (const ares_srv_reply* one = first.get(); one != nullptr; one = one->next) {
        std::string host = one->host;
        if (host.ends_with('.')) {
            host.pop_back();
        }
        if (!isHostName(host) || one->port == 0) {
            return invalid(Reason::kFailedToParse,
                           "DNS names a server that is not a host with a port");
        }
        hosts.push_back({std::move(host), one->port});
    }
    return hosts;
}

StatusOr<std::vector<std::string>> readTexts(ByteView reply) {
    FRESHET_ASSIGN_OR_RETURN(const Parsed<ares_txt_ext> first,
                             parse(ares_parse_txt_reply_ext, reply));
    std::vector<std::string> texts;
    for (const ares_txt_ext* part = first.get(); part != nullptr; part = part->next) {
        if (part->record_start != 0 || texts.empty()) {
            texts.emplace_back();
        }
        texts.back().append(reinterpret_cast<const char*>(part->txt), part->length);
    }
    return texts;
}

}  // namespace freshet::client
