// SPDX-License-Identifier: Apache-2.0
/// Exchange: the connection managers of all adapters of one SimVerbs. It carries messages between
/// ends and connects their queue pairs; a hang-up is an event at the other end and nothing else, as
/// with real ones.
#pragma once

#include "freshet/sync/mutex.h"
#include "freshet/transport/calls.h"

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>

namespace freshet::testing {

class Exchange : public std::enable_shared_from_this<Exchange> {
public:
    StatusOr<std::unique_ptr<transport::verbs::CallListener>> listen(const std::string& address,
                                                                     uint16_t port);
    std::unique_ptr<transport::verbs::Call> dial(const std::string& host, uint16_t port);
    /// From now on requests are lost, or no longer lost.
    void setLosingRequests(bool isLosing);
    uint64_t calls() const;  // existing ends

private:
    class Listener;
    class End;
    struct Line;
    struct Side;

    mutable sync::Mutex mutex_;  // guards everything here, its lines and its listeners
    std::map<std::string, Listener*> listeners_;
    uint64_t ends_ = 0;
    uint64_t nextPort_ = 49'152;
    bool isLosing_ = false;
};

}  // namespace freshet::testing
