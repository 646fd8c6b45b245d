// SPDX-License-Identifier: Apache-2.0
/// TtlMonitor: deletes documents that have expired by an index with expireAfterSeconds. Belongs to
/// the housekeeper's thread. Each document is deleted in a transaction of its own; what is left
/// when the monitor is stopped is deleted in the next pass.
#pragma once

#include "freshet/command/run/services.h"

#include <string>

namespace freshet::command {

class TtlMonitor {
public:
    explicit TtlMonitor(Services& services) : services_(services) {}

    /// Makes a pass over all collections when one is due. Returns the latest time of the next call.
    uint64_t run(uint64_t now);

private:
    void pass();
    void expire(const catalog::CollectionRef& collection, const catalog::Index& index);
    bool mayGoOn() const;

    Services& services_;
    uint64_t lastPass_ = 0;
};

/// The filter for documents that an index lets expire at `wallMs`. Empty: none, whatever they
/// contain.
bson::OwnedDocument expiredFilter(const catalog::Index& index, int64_t wallMs);

}  // namespace freshet::command
