// SPDX-License-Identifier: Apache-2.0
/// FaultPlan: rules for faults of files, and a record of those that happened. One plan may serve
/// several FaultyFileSystems. Any thread.
///
///     FaultPlan plan(testSeed());
///     plan.add({.path = "*/journal/*", .op = FileOp::kSync, .nth = 3});     // the third one: kIo
///     size_t full = plan.add({.op = FileOp::kWrite, .error = noSpace, .times = kEver,
///                             .growingOnly = true});
///     ...
///     plan.cancel(full);                                                    // space is back
///     EXPECT_GT(plan.fired(), 0u) << plan.summary();
#pragma once

#include "freshet/base/status.h"
#include "freshet/sync/mutex.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace freshet::testing {

enum class FileOp : uint8_t {
    kOpen,
    kRead,
    kWrite,
    kSync,
    kTruncate,
    kRename,
    kRemove,
    kSyncDirectory
};

enum class FaultKind : uint8_t {
    kError,             // any operation: fails, no effect
    kShortWrite,        // a first part of the bytes is written, then as kError
    kLyingSync,         // kSync, kSyncDirectory: ok, but nothing became durable
    kTornWrite,         // ok, but only some of the 512-byte sectors are written
    kDroppedWrite,      // ok, but nothing is written
    kMisdirectedWrite,  // ok, but the bytes are written at another offset of the file
    kFlipAtRest,        // ok, but one bit of the written bytes is wrong
    kFlipOnRead,        // ok, but one bit of the bytes read is wrong
    kSplitWrite,        // no fault for the caller: the bytes are written in two pieces
    kSlow,              // any operation: takes slowMs longer, otherwise normal
    kLateError          // kWrite: all is written, then as kError
};

inline constexpr uint64_t kEver = UINT64_MAX;

struct FaultRule {
    std::string path = "*";  // a glob, in which * also matches slashes; of a rename, either name
    FileOp op = FileOp::kWrite;
    FaultKind kind = FaultKind::kError;
    Status error = Status(Code::kIo, "Input/output error");  // kError, kShortWrite, kLateError
    uint64_t nth = 1;          // from the n-th matching call on, counted from add()
    double chance = 1;         // for each call from there on
    uint64_t times = 1;        // fires at most this often
    uint64_t slowMs = 0;       // kSlow
    bool growingOnly = false;  // kWrite: only writes that make the file longer match
    uint64_t below = kEver;    // only calls that begin before this offset match
    bool powerOff = false;     // the power fails as well: every later call fails with kIo
};

class FaultPlan {
public:
    /// Chances, and the affected sectors, bits and offsets, are drawn from `seed`.
    explicit FaultPlan(uint64_t seed) : seed_(seed), random_(seed) {}

    /// Returns the rule's number.
    size_t add(FaultRule rule);
    /// The rule stops firing. For an ENOSPC rule: space is available again.
    void cancel(size_t rule);
    /// Called with one line for every fault, on the thread that meets it, under a lock: it must not
    /// call the plan.
    void onFired(std::function<void(const std::string&)> report);

    uint64_t fired() const;
    uint64_t fired(size_t rule) const;
    /// The seed and the faults that fired (the first 100), for a test's messages.
    std::string summary() const;

    // --- For FaultyFileSystem ---

    struct Call {
        FileOp op;
        std::string path;
        std::string path2;  // of a rename: the new name
        uint64_t offset = 0;
        uint64_t bytes = 0;
        bool grows = false;
    };
    struct Fault {
        FaultKind kind;
        Status error;
        uint64_t random;  // 64 random bits for this fault
        uint64_t slowMs = 0;
    };
    /// The fault of this call, or none. At most one rule applies: the first that fires. Waits here
    /// when the call is to be slow.
    std::optional<Fault> meet(const Call& call);

private:
    struct Entry {
        FaultRule rule;
        uint64_t matched = 0;
        uint64_t fired = 0;
        bool cancelled = false;
    };
    std::optional<Fault> draw(const Call& call);
    bool fires(Entry& entry, const Call& call);
    void note(const Entry& entry, const Call& call);

    const uint64_t seed_;
    mutable sync::Mutex mutex_;  // guards all below
    std::mt19937_64 random_;
    std::vector<Entry> entries_;
    uint64_t fired_ = 0;
    bool powerIsOff_ = false;
    std::vector<std::string> lines_;
    std::function<void(const std::string&)> report_;
};

}  // namespace freshet::testing
