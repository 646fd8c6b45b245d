// SPDX-License-Identifier: Apache-2.0
/// TtlMonitor: deletes documents whose time has come by an index with expireAfterSeconds. Belongs
/// to the housekeeper's thread. Each document goes in a transaction of its own; what is left over
/// when the monitor is told to stop goes in the next pass.
#pragma once

#include "freshet/command/run/services.h"

#include <string>

namespace freshet::command {

class TtlMonitor {
public:
    explicit TtlMonitor(Services& services) : services_(services) {}

    /// Makes a pass over all collections when it is time for one. When to call again, at the
    /// latest.
    uint64_t run(uint64_t now);

private:
    void pass();
    void expire(const catalog::CollectionRef& collection, const catalog::Index& index);
    bool mayGoOn() const;

    Services& services_;
    uint64_t lastPass_ = 0;
};

/// The documents that an index lets expire at `wallMs`. Empty: none, whatever they contain.
bson::OwnedDocument expiredFilter(const catalog::Index& index, int64_t wallMs);

}  // namespace freshet::command
