// SPDX-License-Identifier: Apache-2.0
/// Gate: keeps writers of a collection and definition changes of it apart, without blocking a
/// thread. Writers share it; a definition change has it alone. It is off the page path: one
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
    /// ok: the caller is inside and must leave(). WouldBlock: a definition change has the gate;
    /// wait for *token and call again. kCancelled: the collection was dropped; look its name up
    /// again.
    Status enter(sync::WaitToken* token);
    void leave();

    /// For definition changes, one at a time. ok: the caller has the gate alone and must open() or
    /// retire() it. WouldBlock: writers are inside, nobody new is let in; wait and call again, or
    /// give up with open(). kCancelled: retired.
    Status close(sync::WaitToken* token);
    void open();
    /// The collection is gone: everyone who waits or comes later gets kCancelled.
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
    /// See Gate::enter. Does nothing when inside already.
    Status enter(const std::shared_ptr<Gate>& gate, sync::WaitToken* token);
    void release();
    bool isInside() const { return gate_ != nullptr; }

private:
    std::shared_ptr<Gate> gate_;
};

}  // namespace freshet::catalog
