// SPDX-License-Identifier: Apache-2.0
/// The load generator: many connections with one request in flight each, on a few threads that
/// sleep in epoll, or on a blocking thread for each. It sends copies of one request in which only
/// ids change, so that it costs far less than the server it measures.
#pragma once

#include "freshet/base/bytes.h"
#include "freshet/base/status.h"
#include "freshet/bench/histogram.h"
#include "freshet/transport/session.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace freshet::bench {

enum class Ids : uint8_t {
    kNone,    // every request is the same
    kRandom,  // below idRange
    kUnique   // counts up from idBase, never the same id twice
};

struct RequestTemplate {
    std::string bytes;  // a whole message
    size_t idAt = 0;    // offset of its int64 id
    Ids ids = Ids::kNone;
    size_t numberAt = 0;   // offset of an int64 that gets the same id; 0: none
    size_t sessionAt = 0;  // offset of 8 bytes that name the connection; 0: none
    uint64_t idBase = 0;
    uint64_t idRange = 0;
    /// Checks a reply. Called for each reply whose length differs from that of the last good one.
    std::function<Status(ByteView)> checkReply;
    /// Sent instead, in so many requests of a hundred; must not have an `other` itself. Null:
    /// never.
    std::shared_ptr<const RequestTemplate> other;
    unsigned otherPercent = 0;
};

struct LoadPlan {
    std::string host;
    uint16_t port = 0;
    /// Replaces host and port: makes the sessions, each of which gets a thread.
    std::function<StatusOr<std::unique_ptr<transport::Session>>()> connect;
    /// A thread for each connection to host and port, which blocks.
    bool isBlocking = false;
    unsigned clients = 1;
    unsigned threads = 1;  // for connections that do not block
    uint64_t warmUpMillis = 0;
    uint64_t millis = 0;
    RequestTemplate request;
    /// Called when the measured time begins.
    std::function<void()> measuringBegins;
};

struct LoadResult {
    Histogram latencies;  // in the measured time
    double seconds = 0;   // measured
    size_t replyBytes = 0;
    uint64_t clientCpuMicros = 0;
    uint64_t idsUsed = 0;  // kUnique: number of ids used, warm-up included
};

StatusOr<LoadResult> runLoad(const LoadPlan& plan);

}  // namespace freshet::bench
