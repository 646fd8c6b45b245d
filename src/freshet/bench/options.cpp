// SPDX-License-Identifier: Apache-2.0
#include "freshet/bench/options.h"

#include "freshet/bench/arguments.h"

#include <algorithm>

namespace freshet::bench {
namespace {

constexpr uint64_t kModelBytesMax = uint64_t{1} << 40;
constexpr uint64_t kRecordBytesMost = uint64_t{256} << 20;

Status addOps(WireOptions* out, const std::string& value) {
    for (const std::string& op : splitAtCommas(value)) {
        if (op != "get" && op != "put" && op != "mixed" && op != "model" && op != "ping" &&
            op != "retryable") {
            return badValue("'" + op + "' is none of get, put, retryable, mixed, ping and model");
        }
        out->ops.push_back(op);
    }
    return Status::ok();
}

Status addSizes(WireOptions* out, const std::string& value) {
    for (const std::string& bytes : splitAtCommas(value)) {
        FRESHET_RETURN_IF_ERROR(
            byteCount(bytes, 0, kModelBytesMax, &out->valueBytes.emplace_back()));
    }
    return Status::ok();
}

Status addDurabilities(WireOptions* out, const std::string& value) {
    for (const std::string& each : splitAtCommas(value)) {
        if (each != "durable" && each != "nosync") {
            return badValue("'" + each + "' is neither durable nor nosync");
        }
        out->durabilities.push_back(each);
    }
    return Status::ok();
}

/// Options with a value. Repeated lists are appended.
const Setters<WireOptions>& wireSetters() {
    static const Setters<WireOptions> all = {
        {"--op", addOps},
        {"--clients",
         [](WireOptions* out, const std::string& value) {
             for (const std::string& count : splitAtCommas(value)) {
                 FRESHET_RETURN_IF_ERROR(number(count, 1, 10'000, &out->clients.emplace_back()));
             }
             return Status::ok();
         }},
        {"--value-bytes", addSizes},
        {"--put-percent",
         [](WireOptions* out, const std::string& value) {
             return number(value, 0, 100, &out->putPercent);
         }},
        {"--seconds",
         [](WireOptions* out, const std::string& value) {
             return number(value, 1, 3'600, &out->seconds);
         }},
        {"--threads",
         [](WireOptions* out, const std::string& value) {
             return number(value, 1, 64, &out->threads);
         }},
        {"--records",
         [](WireOptions* out, const std::string& value) {
             return number(value, 1, 1'000'000'000, &out->records);
         }},
        {"--idle",
         [](WireOptions* out, const std::string& value) {
             return number(value, 1, 60'000, &out->idle);
         }},
        {"--durability", addDurabilities},
        {"--load",
         [](WireOptions* out, const std::string& value) {
             out->driver = value == "driver";
             return value == "driver" || value == "epoll"
                        ? Status::ok()
                        : badValue("'" + value + "' is neither epoll nor driver");
         }},
        {"--transport",
         [](WireOptions* out, const std::string& value) {
             out->oneSlot = value == "rdma-oneslot";
             out->rdma = value == "rdma" || out->oneSlot;
             return value == "tcp" || out->rdma
                        ? Status::ok()
                        : badValue("'" + value + "' is none of tcp, rdma and rdma-oneslot");
         }},
        {"--uri",
         [](WireOptions* out, const std::string& value) {
             out->uri = value;
             return Status::ok();
         }},
        {"--pid",
         [](WireOptions* out, const std::string& value) {
             return number(value, 1, INT32_MAX, &out->pid);
         }},
        {"--data-dir",
         [](WireOptions* out, const std::string& value) {
             out->dataDir = value;
             return Status::ok();
         }},
    };
    return all;
}

template <typename T>
void useUnlessGiven(const T& standard, T* given) {
    if (given->empty()) {
        *given = standard;
    }
}

/// Checks that the options fit together.
Status checkTogether(const WireOptions& out) {
    if (out.rdma && (out.uri.empty() || out.withEcho || out.idle > 0)) {
        return badValue(
            "--transport rdma needs --uri (with an address that a device has), and goes "
            "with neither --with-echo nor --idle");
    }
    if (out.driver && (out.rdma || out.withEcho)) {
        return badValue("--load driver goes with neither --transport rdma nor --with-echo");
    }
    const bool onlyModels = std::all_of(
        out.ops.begin(), out.ops.end(), [](const std::string& op) { return op == "model"; });
    const uint64_t largest = *std::max_element(out.valueBytes.begin(), out.valueBytes.end());
    if (!onlyModels && largest > kValueBytesMax) {
        return badValue("--value-bytes: a document has at most " + std::to_string(kValueBytesMax) +
                        "; --op model stores more");
    }
    const bool hasOthers = std::any_of(out.ops.begin(), out.ops.end(), [](const std::string& op) {
        return op != "get" && op != "put";
    });
    return hasOthers && out.withEcho ? badValue("--with-echo goes with get and put only")
                                     : Status::ok();
}

}  // namespace

uint64_t recordsFor(const WireOptions& options, uint64_t valueBytes) {
    constexpr uint64_t kUsual = 100'000;
    return options.records != 0
               ? options.records
               : std::clamp<uint64_t>(kRecordBytesMost / (valueBytes + 1), 1, kUsual);
}

StatusOr<WireOptions> parseWireOptions(const std::vector<std::string>& arguments) {
    const WireOptions defaults;
    WireOptions out;
    out.ops.clear();
    out.clients.clear();
    out.valueBytes.clear();
    out.durabilities.clear();
    const Flags<WireOptions> flags = {{"--with-echo", &WireOptions::withEcho},
                                      {"--stages", &WireOptions::stages},
                                      {"--json", &WireOptions::json}};
    FRESHET_RETURN_IF_ERROR(parseArguments(arguments, wireSetters(), flags, &out));
    useUnlessGiven(defaults.ops, &out.ops);
    useUnlessGiven(defaults.clients, &out.clients);
    useUnlessGiven(defaults.valueBytes, &out.valueBytes);
    useUnlessGiven(defaults.durabilities, &out.durabilities);
    FRESHET_RETURN_IF_ERROR(checkTogether(out));
    return out;
}

std::string_view wireUsage() {
    return R"(usage: freshet-bench wire [options]
Closed-loop clients against a server over the wire protocol; one line a measurement.
  --op OP[,OP...]       get (find by _id) and put (insert) are measured by default; mixed is both by
                        chance; retryable is a put with a session and a transaction number; ping does
                        nothing; model stores a large binary as GridFS does, reads
                        it back and compares
  --put-percent N       of mixed: how many of a hundred are puts (default 50)
  --clients N[,N...]    connections, each with one request in flight (default 1,8,64)
  --value-bytes N[,N...] sizes of the value field, or of a model's binary; K, M and G are 1,024 and its
                        powers (default 1024)
  --seconds N           measured time of a row, after a warm-up of a quarter (default 5)
  --durability D[,D]    of puts: durable (default; w:1, j:true), nosync (w:1, j:false)
  --records N           documents that get chooses from (default 100000, at most 256 MiB of them)
  --with-echo           after each row, the same sizes against an echo on the same reactors
  --idle N              measures again beside N idle connections, and what each of them holds
  --load L              epoll (default): few threads send for all connections; driver: a thread for each
                        connection, which blocks as most drivers do: it sends a message, reads the
                        reply's header, then the rest
  --threads N           threads of --load epoll (default 2)
  --transport T         tcp (default), or rdma: a thread a connection, and an error where the
                        server or this machine has no RDMA; needs --uri. rdma-oneslot: the same with
                        a buffer of the largest message a side and way in place of rings, 96 MB a
                        connection on each side; freshetd must allow it (--rdmaOneSlot)
  --uri URI             any existing server, without TLS and login; default: starts the
                        freshetd beside this program
  --pid N               with --uri: the process whose processor time is taken
  --data-dir DIR        where the own server's temporary data goes
  --stages              also: the server's time by stage, bytes copied, writes and polls over RDMA, system
                        calls and instructions (null where the system does not let us count them)
  --json                one JSON object a line
)";
}

}  // namespace freshet::bench
