// SPDX-License-Identifier: Apache-2.0
#include "freshet/engine/commit_reader.h"

#include "freshet/base/assert.h"
#include "freshet/engine/txn/commit_format.h"

#include <string>

namespace freshet::engine {
namespace {

Status damaged(const char* what) {
    return Status(Code::kCorruption, std::string("commit record: ") + what);
}

/// Takes bytes with their length before them off the front of `rest`. False: they are cut off.
bool takeEvent(ByteView* rest, ByteView* event) {
    if (rest->size() < kCommitEventBytes) {
        return false;
    }
    const size_t bytes = loadLe<uint32_t>(rest->data());
    if (rest->size() - kCommitEventBytes < bytes) {
        return false;
    }
    *event = rest->substr(kCommitEventBytes, bytes);
    rest->remove_prefix(kCommitEventBytes + bytes);
    return true;
}

/// Null: a change came off the front of `rest`.
const char* takeChange(ByteView* rest, CommitChange* change) {
    if (rest->size() < kCommitOpBytes) {
        return "an operation is cut off";
    }
    const auto kind = loadLe<uint32_t>(rest->data() + 4);  // with flags and reserved
    const size_t keyBytes = loadLe<uint32_t>(rest->data() + 8);
    const size_t valueBytes = loadLe<uint32_t>(rest->data() + 12);
    if (kind != static_cast<uint32_t>(CommitOp::kPut) &&
        kind != static_cast<uint32_t>(CommitOp::kDelete)) {
        return "an unknown operation";
    }
    const size_t bytes = rest->size() - kCommitOpBytes;
    if (bytes < keyBytes || bytes - keyBytes < valueBytes) {
        return "a key or value is cut off";
    }
    *change = {loadLe<uint32_t>(rest->data()),
               static_cast<CommitOp>(kind),
               rest->substr(kCommitOpBytes, keyBytes),
               rest->substr(kCommitOpBytes + keyBytes, valueBytes)};
    rest->remove_prefix(kCommitOpBytes + keyBytes + valueBytes);
    return nullptr;
}

}  // namespace

bool CommitReader::hasEvents(ByteView body) {
    return body.size() > kCommitFlagsOffset &&
           (loadLe<uint8_t>(body.data() + kCommitFlagsOffset) & kCommitHasEvents) != 0;
}

StatusOr<CommitReader> CommitReader::open(ByteView body) {
    if (body.size() < kCommitHeaderBytes + kCommitEventBytes) {
        return damaged("too short");
    }
    const auto version = loadLe<uint8_t>(body.data());
    if (version != kCommitVersion && version != kCommitChainVersion) {
        return Status(Code::kUnsupported, "commit record of a newer version");
    }
    CommitReader reader;
    if (version == kCommitChainVersion) {
        if (body.size() < kCommitHeaderBytes + kCommitEventBytes + kChainBytes) {
            return damaged("too short for a part of a chain");
        }
        FRESHET_RETURN_IF_ERROR(reader.checkChain(body.substr(body.size() - kChainBytes)));
        body.remove_suffix(kChainBytes);
    }
    FRESHET_RETURN_IF_ERROR(reader.checkChanges(body));
    return reader;
}

Status CommitReader::checkChanges(ByteView body) {
    changesLeft_ = loadLe<uint32_t>(body.data() + kCommitOpsOffset);
    rest_ = body.substr(kCommitHeaderBytes);
    ByteView rest = rest_;
    CommitChange change;
    for (uint32_t i = 0; i < changesLeft_; ++i) {
        if (const char* const wrong = takeChange(&rest, &change)) {
            return damaged(wrong);
        }
    }
    ByteView section;
    if (!takeEvent(&rest, &section) || !rest.empty()) {
        return damaged("the event section has the wrong length");
    }
    return checkEvents(section);
}

Status CommitReader::checkEvents(ByteView section) {
    if (section.empty() || loadLe<uint8_t>(section.data()) != kEventsVersion) {
        return Status::ok();
    }
    if (section.size() < kEventsHeaderBytes) {
        return damaged("the event section is too short");
    }
    eventsLeft_ = loadLe<uint32_t>(section.data() + kEventsCountOffset);
    wallMs_ = loadLe<int64_t>(section.data() + kEventsWallOffset);
    events_ = section.substr(kEventsHeaderBytes);
    ByteView rest = events_;
    ByteView event;
    for (uint32_t i = 0; i < eventsLeft_; ++i) {
        if (!takeEvent(&rest, &event)) {
            return damaged("an event is cut off");
        }
    }
    return rest.empty() ? Status::ok() : damaged("bytes behind the last event");
}

Status CommitReader::checkChain(ByteView field) {
    const auto last = loadLe<uint32_t>(field.data() + kChainLastOffset);
    chain_ = {loadLe<uint64_t>(field.data()),
              loadLe<uint32_t>(field.data() + kChainNumberOffset),
              last != 0};
    const bool isFirst = chain_->number == 0;
    return last > 1 || isFirst != (chain_->first == 0) || (isFirst && chain_->isLast)
               ? damaged("an impossible place in a chain")
               : Status::ok();
}

bool CommitReader::next(CommitChange* change) {
    if (changesLeft_ == 0) {
        return false;
    }
    --changesLeft_;
    const char* const wrong = takeChange(&rest_, change);
    invariant(wrong == nullptr);  // open() has looked
    return true;
}

bool CommitReader::nextEvent(ByteView* event) {
    if (eventsLeft_ == 0) {
        return false;
    }
    --eventsLeft_;
    const bool isWhole = takeEvent(&events_, event);
    invariant(isWhole);  // open() has looked
    return true;
}

}  // namespace freshet::engine
