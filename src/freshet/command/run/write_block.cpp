// SPDX-License-Identifier: Apache-2.0
#include "freshet/command/run/write_block.h"

#include "freshet/command/run/invocation.h"

#include <mutex>

namespace freshet::command {
namespace {

constexpr uint64_t kLookAgainMs = 2;

}  // namespace

bool isWriter(const Command& command, bson::Document body) {
    if (command.writesWith != nullptr) {
        return command.writesWith(body);
    }
    return !command.readOnly && command.access.action != Action::kSetParameter &&
           command.access.action != Action::kKillOp &&
           command.access.action != Action::kTestCommand;
}

void WriteBlock::lock() {
    std::lock_guard<sync::Mutex> lock(mutex_);
    // [writeBlock.set] ORDER relaxed: see [writeBlock.look].
    locks_.fetch_add(1, sync::kRelaxed);
}

void WriteBlock::confirm() {
    std::lock_guard<sync::Mutex> lock(mutex_);
    ++inForce_;
}

void WriteBlock::cancel() {
    std::lock_guard<sync::Mutex> lock(mutex_);
    end();
}

bool WriteBlock::unlock() {
    std::lock_guard<sync::Mutex> lock(mutex_);
    if (inForce_ == 0) {
        return false;
    }
    --inForce_;
    end();
    return true;
}

void WriteBlock::end() {
    // [writeBlock.clear] ORDER relaxed: under the mutex, and writers are woken by tokens.
    if (locks_.fetch_sub(1, sync::kRelaxed) == 1) {
        for (const sync::WaitToken& token : waiting_) {
            token.complete();
        }
        waiting_.clear();
    }
}

sync::Task<Status> WriteBlock::drain(Invocation& call) {
    while (call.services.operations.hasWriters()) {
        Status status = co_await sleepOrStop(call, kLookAgainMs);
        FRESHET_CO_RETURN_IF_ERROR(std::move(status));
    }
    co_return Status::ok();
}

sync::Task<Status> WriteBlock::pass(Invocation& call) {
    while (isLocked()) {
        const sync::WaitToken token = sync::WaitToken::create();
        {
            std::lock_guard<sync::Mutex> lock(mutex_);
            if (!isLocked()) {
                break;
            }
            waiting_.push_back(token);
        }
        call.connection.setHeldUp(true);
        Status status = co_await waitOrStop(call, token);
        call.connection.setHeldUp(false);
        FRESHET_CO_RETURN_IF_ERROR(std::move(status));
    }
    co_return Status::ok();
}

}  // namespace freshet::command
