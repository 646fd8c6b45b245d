// SPDX-License-Identifier: Apache-2.0
/// The table of all commands: what a request may contain, who may send it, and the handler. Built
/// once at start and immutable after that; any thread.
#pragma once

#include "freshet/base/status.h"
#include "freshet/sync/task.h"

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace freshet::command {

struct Invocation;  // run/invocation.h

/// Reads call.body, adds fields to call.reply. A status that is not ok becomes the reply instead.
using Handler = sync::Task<Status> (*)(Invocation& call);

/// Which opcounter of serverStatus a command counts in.
enum class OpKind : uint8_t { kInsert, kQuery, kUpdate, kDelete, kGetMore, kCommand };

struct Command {
    std::string_view name;
    std::vector<std::string_view> aliases;
    std::string_view help;
    /// What the body may have besides the command's own name and the generic arguments.
    std::vector<std::string_view> fields;
    Handler handler = nullptr;
    OpKind kind = OpKind::kCommand;
    bool acceptsUnknownFields = false;  // handshakes: newer drivers send what we do not know
    bool adminOnly = false;             // runs against the admin database alone
    bool allowedBeforeAuth = false;
    bool readOnly = false;
    bool inApiVersion1 = false;  // may be sent with apiStrict
    bool takesReadConcern = false;
};

class Registry {
public:
    /// Every command of this server.
    Registry();
    ~Registry();
    Registry(const Registry&) = delete;
    Registry& operator=(const Registry&) = delete;

    /// By name or alias, exactly as spelled. Null when there is none.
    const Command* find(std::string_view name) const;
    /// In the order of their names.
    const std::vector<Command>& commands() const;

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace freshet::command
