// SPDX-License-Identifier: Apache-2.0
#include "freshet/testing/sim/crash_states.h"

#include "freshet/testing/sim/disk/paths.h"
#include "freshet/testing/sim/disk/volatile_file.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <random>
#include <set>
#include <vector>

namespace freshet::testing {
namespace {

using Kind = TraceOp::Kind;

/// Names and bytes after the operations applied so far.
class Image {
public:
    /// Applies one operation as a whole.
    void apply(const TraceOp& op) {
        switch (op.kind) {
            case Kind::kCreate:
                names_[op.path] = op.file;
                return;
            case Kind::kRename:
                if (auto moved = names_.extract(op.path)) {
                    names_[op.to] = moved.mapped();
                }
                return;
            case Kind::kRemove:
                names_.erase(op.path);
                return;
            case Kind::kWrite:
                write(op.file, op.data, op.offset);
                return;
            case Kind::kTruncate:
                bytes_[op.file].resize(op.offset);
                return;
            case Kind::kMakeDirectory:
                directories_.insert(op.path);
                return;
            case Kind::kSync:
            case Kind::kSyncDirectory:
                return;
        }
    }

    /// Applies each sector of a write with even odds.
    void applyTorn(const TraceOp& op, std::mt19937_64& random) {
        for (uint64_t at = 0; at < op.data.size();) {
            uint64_t n =
                std::min(op.data.size() - at, kSectorBytes - (op.offset + at) % kSectorBytes);
            if ((random() & 1) != 0) {
                write(op.file, ByteView(op.data).substr(at, n), op.offset + at);
            }
            at += n;
        }
    }

    void putInto(MemoryFileSystem& disk) const {
        for (const std::string& directory : directories_) {
            invariant(disk.makeDirectory(directory).isOk());
        }
        for (const auto& [name, file] : names_) {
            auto found = bytes_.find(file);
            disk.put(name, found == bytes_.end() ? std::string() : found->second);
        }
    }

private:
    void write(uint32_t file, ByteView data, uint64_t offset) {
        std::string& bytes = bytes_[file];
        if (bytes.size() < offset + data.size()) {
            bytes.resize(offset + data.size());
        }
        std::copy(data.begin(), data.end(), bytes.begin() + static_cast<ptrdiff_t>(offset));
    }

    std::map<std::string, uint32_t> names_;
    std::map<uint32_t, std::string> bytes_;
    std::set<std::string> directories_;
};

class Enumeration {
public:
    Enumeration(const Trace& trace,
                const CrashStatesOptions& options,
                const std::function<Status(MemoryFileSystem&, const CrashState&)>& check,
                CrashStatesCount& count)
        : trace_(trace), options_(options), check_(check), count_(count), random_(options.seed) {}

    Status run() {
        size_t span = trace_.size() - std::min(options_.from, trace_.size()) + 1;
        uint64_t usual = (uint64_t{1} << options_.allSubsetsUpTo) + 1;
        uint64_t prefixes = std::clamp<uint64_t>(options_.statesMax / usual, 1, span);
        perPrefix_ = options_.statesMax / prefixes;
        uint64_t done = 0;
        for (size_t prefix = 0; prefix <= trace_.size(); ++prefix) {
            // The k-th of them is the first at or behind its place in the span.
            if (prefix >= options_.from && done < prefixes &&
                (prefix - options_.from) * prefixes >= done * span) {
                ++done;
                ++count_.prefixes;
                FRESHET_RETURN_IF_ERROR(statesAt(prefix));
            }
            if (prefix < trace_.size()) {
                advance(trace_[prefix]);
            }
        }
        return Status::ok();
    }

private:
    /// Applies to the image the operations that `op` makes durable; `op` itself waits.
    void advance(const TraceOp& op) {
        if (op.kind == Kind::kMakeDirectory) {
            image_.apply(op);
        } else if (op.kind == Kind::kSync || op.kind == Kind::kSyncDirectory) {
            std::erase_if(unsynced_, [&](const TraceOp* earlier) {
                if (!covers(op, *earlier)) {
                    return false;
                }
                image_.apply(*earlier);
                return true;
            });
        } else {
            unsynced_.push_back(&op);
        }
    }

    static bool covers(const TraceOp& sync, const TraceOp& op) {
        bool ofBytes = op.kind == Kind::kWrite || op.kind == Kind::kTruncate;
        if (sync.kind == Kind::kSync) {
            return ofBytes && op.file == sync.file;
        }
        return !ofBytes && parentOf(op.kind == Kind::kRename ? op.to : op.path) == sync.path;
    }

    Status statesAt(size_t prefix) {
        const size_t n = unsynced_.size();
        const uint64_t before = count_.states;
        FRESHET_RETURN_IF_ERROR(one(prefix, std::string(n, '.')));
        if (n == 0) {
            return Status::ok();
        }
        FRESHET_RETURN_IF_ERROR(one(prefix, std::string(n, 'k')));
        for (uint64_t subset = 1; n <= options_.allSubsetsUpTo && subset + 1 < uint64_t{1} << n;
             ++subset) {
            std::string kept(n, '.');
            for (size_t i = 0; i < n; ++i) {
                kept[i] = (subset >> i & 1) != 0 ? 'k' : '.';
            }
            FRESHET_RETURN_IF_ERROR(one(prefix, kept));
        }
        bool torn =
            unsynced_.back()->kind == Kind::kWrite && unsynced_.back()->data.size() > kSectorBytes;
        if (torn) {  // the likeliest: the write during which the power went
            FRESHET_RETURN_IF_ERROR(one(prefix, std::string(n - 1, 'k') + 't'));
        }
        while (n + torn > 1 && count_.states < before + perPrefix_) {
            FRESHET_RETURN_IF_ERROR(one(prefix, sample()));
        }
        return Status::ok();
    }

    std::string sample() {
        std::string kept;
        for (const TraceOp* op : unsynced_) {
            kept += ".kt"[random_() % (op->kind == Kind::kWrite ? 3 : 2)];
        }
        return kept;
    }

    Status one(size_t prefix, const std::string& kept) {
        Image image = image_;
        for (size_t i = 0; i < kept.size(); ++i) {
            if (kept[i] == 'k') {
                image.apply(*unsynced_[i]);
            } else if (kept[i] == 't') {
                image.applyTorn(*unsynced_[i], random_);
            }
        }
        CrashState state{
            .prefix = prefix, .unsynced = kept.size(), .kept = kept, .number = count_.states};
        ++count_.states;
        count_.torn += kept.find('t') != std::string::npos ? 1 : 0;
        MemoryFileSystem disk;
        image.putInto(disk);
        Status status = check_(disk, state);
        return status.isOk()
                   ? status
                   : status.withContext(
                         "FRESHET_SEED=" + std::to_string(options_.seed) + ", crash state " +
                         std::to_string(state.number) + ": prefix " + std::to_string(prefix) +
                         " of " + std::to_string(trace_.size()) + ", unsynced operations " + kept);
    }

    const Trace& trace_;
    const CrashStatesOptions options_;
    const std::function<Status(MemoryFileSystem&, const CrashState&)>& check_;
    CrashStatesCount& count_;
    std::mt19937_64 random_;
    uint64_t perPrefix_ = 0;
    Image image_;                           // durable at the prefix that has been reached
    std::vector<const TraceOp*> unsynced_;  // in order
};

}  // namespace

Status forEachCrashState(
    const Trace& trace,
    const CrashStatesOptions& options,
    const std::function<Status(MemoryFileSystem& disk, const CrashState& state)>& check,
    CrashStatesCount* count) {
    CrashStatesCount mine;
    return Enumeration(trace, options, check, count != nullptr ? *count : mine).run();
}

uint64_t crashStatesWanted(uint64_t usual) {
    const char* given = std::getenv("FRESHET_CRASH_STATES");
    return given != nullptr ? std::strtoull(given, nullptr, 10) : usual;
}

}  // namespace freshet::testing
