// SPDX-License-Identifier: Apache-2.0
/// Gate: keeps writers of a collection and definition changes apart without blocking a thread.
/// Writers share it; a definition change has it alone. It is off the page path: one
/// read-modify-write per write operation. Any thread.
#pragma once

#include "freshet/base/status.h"
#include "freshet/sync/wait_token.h"

#include <memory>

namespace freshet::catalog {

class Gate {
public:
    Gate();
    ~Gate();
    /// ok: the caller is inside and must call leave(). WouldBlock: a definition change has the
    /// gate; wait for *token and call again. kCancelled: the collection was dropped; look its name
    /// up again.
    Status enter(sync::WaitToken* token);
    void leave();

    /// For definition changes, one at a time. ok: the caller has the gate alone and must call
    /// open() or retire(). WouldBlock: writers are still inside, and new ones are kept out; wait
    /// and call again, or give up with open(). kCancelled: retired.
    Status close(sync::WaitToken* token);
    void open();
    /// The collection was dropped: waiting and later callers get kCancelled.
    void retire();
    bool isRetired() const;

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

/// Enters on success and leaves when destroyed.
class GatePass {
public:
    GatePass() = default;
    ~GatePass() { release(); }
    GatePass(const GatePass&) = delete;
    GatePass& operator=(const GatePass&) = delete;
    /// See Gate::enter. Does nothing if already inside.
    Status enter(const std::shared_ptr<Gate>& gate, sync::WaitToken* token);
    void release();
    bool isInside() const { return gate_ != nullptr; }

private:
    std::shared_ptr<Gate> gate_;
};

}  // namespace freshet::catalog
