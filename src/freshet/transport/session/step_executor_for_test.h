// SPDX-License-Identifier: Apache-2.0
/// An executor that a test drives by hand, and messages to feed to sessions.
#pragma once

#include "freshet/sync/task.h"
#include "freshet/transport/message.h"
#include "freshet/wire/frame.h"

#include <deque>
#include <string>

namespace freshet::transport {

/// One thread: the test's.
class StepExecutorForTest final : public sync::Executor {
public:
    StepExecutorForTest() : before_(current()) { setCurrent(this); }
    ~StepExecutorForTest() override { setCurrent(before_); }
    void post(sync::WorkItem* item) override { items_.push_back(item); }
    sync::WaitToken after(uint64_t) override { return sync::WaitToken::completed(); }
    /// Until nothing is left to do.
    void runAll() {
        while (!items_.empty()) {
            sync::WorkItem* item = items_.front();
            items_.pop_front();
            item->run(item);
        }
    }

private:
    sync::Executor* before_;
    std::deque<sync::WorkItem*> items_;
};

/// A whole message: header and `payload`.
inline std::string messageForTest(int32_t requestId, std::string_view payload) {
    std::string out(wire::kHeaderBytes, '\0');
    out += payload;
    wire::storeHeader(out.data(), {static_cast<int32_t>(out.size()), requestId, 0, 2013});
    return out;
}

inline std::string_view payloadForTest(const Message& message) {
    return message.view().substr(wire::kHeaderBytes);
}

}  // namespace freshet::transport
