// SPDX-License-Identifier: Apache-2.0
#include "freshet/bench/options.h"

#include "freshet/bench/arguments.h"

namespace freshet::bench {
namespace {

/// Options with a value. Lists that are given again are appended to.
const Setters<WireOptions>& setters() {
    static const Setters<WireOptions> all = {
        {"--op",
         [](WireOptions* out, const std::string& value) {
             for (const std::string& op : splitAtCommas(value)) {
                 if (op != "get" && op != "put") {
                     return badValue("'" + op + "' is neither get nor put");
                 }
                 out->ops.push_back(op);
             }
             return Status::ok();
         }},
        {"--clients",
         [](WireOptions* out, const std::string& value) {
             for (const std::string& count : splitAtCommas(value)) {
                 FRESHET_RETURN_IF_ERROR(number(count, 1, 10'000, &out->clients.emplace_back()));
             }
             return Status::ok();
         }},
        {"--value-bytes",
         [](WireOptions* out, const std::string& value) {
             return number(value, 0, 16'000'000, &out->valueBytes);
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
        {"--durability",
         [](WireOptions* out, const std::string& value) {
             out->durable = value == "durable";
             return value == "durable" || value == "nosync"
                        ? Status::ok()
                        : badValue("'" + value + "' is neither durable nor nosync");
         }},
        {"--transport",
         [](WireOptions* out, const std::string& value) {
             out->rdma = value == "rdma";
             return value == "tcp" || value == "rdma"
                        ? Status::ok()
                        : badValue("'" + value + "' is neither tcp nor rdma");
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

}  // namespace

StatusOr<WireOptions> parseWireOptions(const std::vector<std::string>& arguments) {
    const WireOptions defaults;
    WireOptions out;
    out.ops.clear();
    out.clients.clear();
    const Flags<WireOptions> flags = {{"--with-echo", &WireOptions::withEcho},
                                      {"--json", &WireOptions::json}};
    FRESHET_RETURN_IF_ERROR(parseArguments(arguments, setters(), flags, &out));
    out.ops = out.ops.empty() ? defaults.ops : out.ops;
    out.clients = out.clients.empty() ? defaults.clients : out.clients;
    if (out.rdma && (out.uri.empty() || out.withEcho || out.idle > 0)) {
        return badValue(
            "--transport rdma needs --uri (with an address that a device has), and goes "
            "with neither --with-echo nor --idle");
    }
    return out;
}

std::string_view wireUsage() {
    return R"(usage: freshet-bench wire [options]
Closed-loop clients against a server over the wire protocol; one line a measurement.
  --op get|put          find by _id, or insert; comma list or repeated (default both)
  --clients N[,N...]    connections, each with one request in flight (default 1,8,64)
  --value-bytes N       size of the value field (default 1024)
  --seconds N           measured time of a row, after a warm-up of a quarter (default 5)
  --durability D        of put: durable (default; w:1, j:true) or nosync (w:1, j:false)
  --records N           documents that get chooses from (default 100000)
  --with-echo           after each row, the same sizes against an echo on the same reactors
  --idle N              measures again beside N idle connections, and what each of them holds
  --threads N           threads of the load generator (default 2)
  --transport T         tcp (default), or rdma: a thread a connection, and an error where the
                        server or this machine has no RDMA; needs --uri
  --uri URI             any existing server, without TLS and login; default: starts the
                        freshetd beside this program
  --pid N               with --uri: the process whose processor time is taken
  --data-dir DIR        where the own server's temporary data goes
  --json                one JSON object a line
)";
}

}  // namespace freshet::bench
