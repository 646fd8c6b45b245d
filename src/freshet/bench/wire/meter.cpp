// SPDX-License-Identifier: Apache-2.0
#include "freshet/bench/wire/meter.h"

#include "freshet/bench/processes.h"
#include "freshet/platform/clock.h"

#include <algorithm>
#include <cstdio>
#include <utility>

namespace freshet::bench {
namespace {

constexpr std::array<const char*, 4> kStages = {"source", "process", "sink", "other"};

std::string text(const ServerWork::Number& number, double ops) {
    char out[32] = "null";
    if (number && ops > 0) {
        std::snprintf(out, sizeof(out), "%.3f", *number / ops);
    }
    return out;
}

std::array<std::pair<const char*, ServerWork::Number>, 10> counted(const ServerWork& work) {
    return {{{"source_us_per_op", work.sourceMicros},
             {"process_us_per_op", work.processMicros},
             {"sink_us_per_op", work.sinkMicros},
             {"other_us_per_op", work.otherMicros},
             {"copied_bytes_per_op", work.copiedBytes},
             {"kernel_copied_bytes_per_op", work.kernelCopiedBytes},
             {"rdma_writes_per_op", work.rdmaWrites},
             {"rdma_polls_per_op", work.rdmaPolls},
             {"system_calls_per_op", work.systemCalls},
             {"instructions_per_op", work.instructions}}};
}

}  // namespace

std::string ServerWork::json(double ops, bool withStages) const {
    std::string out = R"(, "server_cpu_us_per_op": )" + text(cpuMicros, ops);
    if (withStages) {
        for (const auto& [name, number] : counted(*this)) {
            out += std::string(", \"") + name + "\": " + text(number, ops);
        }
    }
    return out;
}

std::string ServerWork::cpuText(double ops) const {
    return text(cpuMicros, ops);
}

std::string ServerWork::stagesText(double ops) const {
    std::string out;
    for (const auto& [name, number] : counted(*this)) {
        out += (out.empty() ? "" : "  ") + std::string(name) + " " + text(number, ops);
    }
    return out;
}

ServerWork::Number Meter::cpu() const {
    StatusOr<uint64_t> micros = pid_ == 0 ? Status(Code::kNotFound, "") : cpuMicrosOf(pid_);
    return micros.isOk() ? ServerWork::Number(static_cast<double>(*micros)) : std::nullopt;
}

Meter::Reading Meter::readStatus() {
    Reading out;
    const std::string command = bson::Builder().add("serverStatus", int32_t{1}).finish();
    auto reply = connection_->runChecked("admin", bson::Document(command));
    out.readAtNanos = platform::monotonicNanos();
    if (!reply.isOk()) {
        return out;
    }
    const bson::Document status = reply->view();
    const auto number = [&](const std::string& path) { return status.findPath(path).toDouble(); };
    out.isThere = true;
    out.hasStages = bool(status.findPath("network.stageMicros"));
    for (size_t i = 0; i < kStages.size(); ++i) {
        out.stageMicros[i] = number(std::string("network.stageMicros.") + kStages[i]);
    }
    out.networkBytes = number("network.bytesIn") + number("network.bytesOut");
    out.hasRdma = status.has("rdma");
    out.rdmaCopiedBytes = number("rdma.bytesCopiedIn") + number("rdma.bytesCopiedOut");
    out.rdmaWrites = number("rdma.writes");
    out.rdmaPolls = number("rdma.polls");
    return out;
}

void Meter::begin() {
    if (connection_ != nullptr) {
        systemCalls_ = std::make_unique<ProcessEvents>(pid_, ProcessEvent::kSystemCall);
        instructions_ = std::make_unique<ProcessEvents>(pid_, ProcessEvent::kInstruction);
        before_ = readStatus();
    }
    cpuBefore_ = cpu();
}

ServerWork Meter::end(const std::function<void()>& settle) {
    ServerWork out;
    if (connection_ != nullptr) {
        const auto number = [](const ProcessEvents& events) {
            const std::optional<uint64_t> count = events.read();
            return count ? ServerWork::Number(static_cast<double>(*count)) : std::nullopt;
        };
        out.systemCalls = number(*systemCalls_);
        out.instructions = number(*instructions_);
        addStatus(before_, readStatus(), &out);
    }
    settle();
    const ServerWork::Number cpuAfter = cpu();
    if (cpuBefore_ && cpuAfter) {
        out.cpuMicros = *cpuAfter - *cpuBefore_;
    }
    return out;
}

void Meter::addStatus(const Reading& before, const Reading& after, ServerWork* out) const {
    if (!before.isThere || !after.isThere) {
        return;
    }
    if (after.hasStages) {
        const auto spent = [&](size_t stage) {
            return after.stageMicros[stage] - before.stageMicros[stage];
        };
        // The connection that asks has waited in the stage Source since its previous request.
        const double own = static_cast<double>(after.readAtNanos - before.readAtNanos) / 1e3;
        out->sourceMicros = std::max(0.0, spent(0) - own);
        out->processMicros = spent(1);
        out->sinkMicros = spent(2);
        out->otherMicros = spent(3);
    }
    if (!isRdma_) {
        out->kernelCopiedBytes = after.networkBytes - before.networkBytes;
    } else if (after.hasRdma) {
        out->copiedBytes = after.rdmaCopiedBytes - before.rdmaCopiedBytes;
        out->rdmaWrites = after.rdmaWrites - before.rdmaWrites;
        out->rdmaPolls = after.rdmaPolls - before.rdmaPolls;
    }
}

}  // namespace freshet::bench
