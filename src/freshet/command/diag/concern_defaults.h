// SPDX-License-Identifier: Apache-2.0
/// ConcernDefaults: the read and write concern of commands that have none of their own
/// (setDefaultRWConcern). Any thread; the mutex is a leaf.
#pragma once

#include "freshet/bson/builder.h"
#include "freshet/sync/atomic.h"
#include "freshet/sync/mutex.h"

#include <memory>
#include <mutex>
#include <utility>

namespace freshet::command {

class ConcernDefaults {
public:
    /// Whether a write is acknowledged only when it is on stable storage.
    bool waitsForDisk() const {
        // [concern.write] ORDER relaxed: a command that sees a change late counts as before it.
        return waitsForDisk_.load(sync::kRelaxed);
    }
    /// Whether what is read must be durable before the reply.
    bool readsDurably() const {
        // [concern.read] ORDER relaxed: as [concern.write].
        return readsDurably_.load(sync::kRelaxed);
    }
    /// As config.settings has it: {defaultReadConcern, defaultWriteConcern, updateOpTime,
    /// updateWallClockTime}. Empty: none was ever set.
    bson::OwnedDocument document() const {
        std::lock_guard<sync::Mutex> lock(mutex_);
        return document_;
    }
    /// REQUIRES: checked.
    void set(bson::OwnedDocument document) {
        std::lock_guard<sync::Mutex> lock(mutex_);
        const bson::Document concern = document.view();
        const bson::Element w = concern.findPath("defaultWriteConcern.w");
        const bool isJournaled = concern.findPath("defaultWriteConcern.j").isTruthy();
        // [concern.set] ORDER relaxed: see [concern.write].
        waitsForDisk_.store(!w.isNumber() || isJournaled, sync::kRelaxed);
        const bson::Element level = concern.findPath("defaultReadConcern.level");
        // [concern.setRead] ORDER relaxed: see [concern.write].
        readsDurably_.store(level.isString() && level.stringValue() == "majority", sync::kRelaxed);
        document_ = std::move(document);
    }

private:
    /// Written by: set(). Read by: every command that writes.
    ///   STEPS    any
    sync::Atomic<bool> waitsForDisk_{true};
    /// Written by: set(). Read by: every command that reads.
    ///   STEPS    any
    sync::Atomic<bool> readsDurably_{false};
    mutable sync::Mutex mutex_;
    bson::OwnedDocument document_;  // guarded by mutex_
};

}  // namespace freshet::command
