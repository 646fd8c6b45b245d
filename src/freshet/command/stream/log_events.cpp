// SPDX-License-Identifier: Apache-2.0
#include "freshet/command/stream/log_events.h"

#include "freshet/base/assert.h"
#include "freshet/catalog/documents.h"
#include "freshet/engine/commit_reader.h"

#include <algorithm>

namespace freshet::command {
namespace {

/// After so many records others may run.
constexpr int kRecordsPerTurn = 64;

Status wrongLog(const std::string& what) {
    return Status(Code::kCorruption, "the log's events: " + what);
}

}  // namespace

struct LogEvents::Commit {
    explicit Commit(engine::CommitReader its) : record(std::move(its)) {}

    engine::CommitReader record;
    uint32_t given = 0;         // events so far
    uint32_t all = UINT32_MAX;  // of them; of a chain not known before its end

    // The change that was looked at last, which an event behind it may be about.
    engine::CommitChange change{};
    bool hasChange = false;
    std::string keptKey;  // of a change at the end of a chain's record, whose event is in the next
    std::string keptValue;

    // Of a chain:
    std::unique_ptr<journal::Reader> again;  // reads it from its first record on
    journal::Lsn first = 0;
    journal::Lsn last = 0;
    uint32_t recordsRead = 0;

    bool isChain() const { return again != nullptr; }
    void keepChange();
};

/// Its bytes go with the record.
void LogEvents::Commit::keepChange() {
    if (hasChange) {
        keptKey = std::string(change.key);
        keptValue = std::string(change.value);
        change.key = keptKey;
        change.value = keptValue;
    }
}

StatusOr<std::unique_ptr<LogEvents>> LogEvents::open(journal::Journal& journal,
                                                     const journal::ReadFrom& from) {
    journal::ReadFrom commits = from;
    commits.types = journal::maskOf(journal::RecordType::kCommit);
    FRESHET_ASSIGN_OR_RETURN(auto reader, journal::Reader::open(journal, commits));
    return std::unique_ptr<LogEvents>(new LogEvents(journal, std::move(reader)));
}

LogEvents::LogEvents(journal::Journal& journal, std::unique_ptr<journal::Reader> reader)
    : journal_(journal), reader_(std::move(reader)), pin_(journal, reader_->neededFrom()) {}

LogEvents::~LogEvents() = default;

Status LogEvents::skipTo(journal::Lsn position, uint64_t timestamp) {
    dcheck(!isInCommit() && !isInChain());
    if (position <= reader_->position()) {
        return Status::ok();
    }
    FRESHET_ASSIGN_OR_RETURN(
        reader_,
        journal::Reader::open(
            journal_, {.lsn = position, .types = journal::maskOf(journal::RecordType::kCommit)}));
    timestamp_ = timestamp;
    return Status::ok();
}

Status LogEvents::wait(const sync::WaitToken& token, bool isDry) {
    token_ = token;
    isDry_ = isDry;
    sinceTurn_ = 0;
    return Status::wouldBlock();
}

Status LogEvents::next(const CommittedEvent** event) {
    for (;;) {
        if (commit_ == nullptr) {
            FRESHET_RETURN_IF_ERROR(nextRecord());
            continue;
        }
        bool isOver = false;
        FRESHET_RETURN_IF_ERROR(nextInCommit(&isOver));
        if (!isOver) {
            *event = &current_;
            return Status::ok();
        }
        commit_.reset();
    }
}

/// Looks at one record; begins its commit if it has events.
Status LogEvents::nextRecord() {
    movePin();
    if (++sinceTurn_ > kRecordsPerTurn) {
        return wait(sync::WaitToken::completed(), false);
    }
    journal::RecordView record;
    Status status = reader_->next(&record);
    if (status.isWouldBlock()) {
        return wait(reader_->token(), reader_->position() >= journal_.durableLsn());
    }
    FRESHET_RETURN_IF_ERROR(status);
    timestamp_ = record.timestamp;
    return openCommit(record);
}

void LogEvents::movePin() {
    const journal::Lsn needed = reader_->neededFrom();
    pin_.moveTo(openChains_.empty() ? needed : std::min(needed, *openChains_.begin()));
}

Status LogEvents::openCommit(const journal::RecordView& record) {
    FRESHET_ASSIGN_OR_RETURN(engine::CommitReader reader, engine::CommitReader::open(record.body));
    const auto& chain = reader.chain();
    if (chain.has_value() && !chain->isLast) {
        openChains_.insert(chain->number == 0 ? record.lsn : chain->first);
        return Status::ok();
    }
    if (!engine::CommitReader::hasEvents(record.body)) {
        if (chain.has_value()) {
            openChains_.erase(chain->first);
        }
        return Status::ok();
    }
    current_ = CommittedEvent();
    current_.lsn = record.lsn;
    current_.timestamp = record.timestamp;
    current_.wallMs = reader.wallMs();
    // The event about the transaction or the statement, if there is one, is the last of all.
    engine::CommitReader toLast = reader;
    for (ByteView bytes; toLast.nextEvent(&bytes);) {
        if (toLast.events() == 0) {
            FRESHET_ASSIGN_OR_RETURN(const catalog::Event last, catalog::decodeEvent(bytes));
            if (last.kind == catalog::EventKind::kTransaction) {
                current_.transaction = last.document;
            } else if (last.kind == catalog::EventKind::kStatement) {
                current_.statement = last.document;
            }
        }
    }
    commit_ = std::make_unique<Commit>(std::move(reader));
    if (!chain.has_value()) {
        commit_->all = commit_->record.events();
        return Status::ok();
    }
    commit_->first = chain->first;
    commit_->last = record.lsn;
    FRESHET_ASSIGN_OR_RETURN(
        commit_->again,
        journal::Reader::open(
            journal_,
            {.lsn = chain->first, .types = journal::maskOf(journal::RecordType::kCommit)}));
    return Status::ok();
}

Status LogEvents::nextInCommit(bool* isOver) {
    Commit& commit = *commit_;
    if (commit.isChain() && commit.recordsRead == 0) {
        FRESHET_RETURN_IF_ERROR(nextOfChain(isOver));
    }
    ByteView bytes;
    while (!commit.record.nextEvent(&bytes)) {
        *isOver = true;
        if (commit.isChain()) {
            FRESHET_RETURN_IF_ERROR(nextOfChain(isOver));
        }
        if (*isOver) {
            return Status::ok();
        }
    }
    return fill(bytes);
}

/// Goes on to the chain's next record. *isOver: there is none.
Status LogEvents::nextOfChain(bool* isOver) {
    Commit& commit = *commit_;
    *isOver = commit.recordsRead > 0 && commit.record.chain()->isLast;
    if (*isOver) {
        openChains_.erase(commit.first);
        return Status::ok();
    }
    // What is left in this record may include the change of the next one's first event.
    while (commit.recordsRead > 0 && commit.record.next(&commit.change)) {
        commit.hasChange = true;
    }
    commit.keepChange();
    for (;;) {
        if (++sinceTurn_ > kRecordsPerTurn) {
            return wait(sync::WaitToken::completed(), false);
        }
        journal::RecordView record;
        const Status status = commit.again->next(&record);
        if (status.isWouldBlock()) {
            return wait(commit.again->token(), false);
        }
        FRESHET_RETURN_IF_ERROR(status);
        if (record.lsn > commit.last) {
            return wrongLog("a chain lacks a record");
        }
        FRESHET_ASSIGN_OR_RETURN(auto reader, engine::CommitReader::open(record.body));
        const auto& chain = reader.chain();
        const bool isOurs =
            chain.has_value() && (record.lsn == commit.first || chain->first == commit.first);
        if (isOurs) {
            if (chain->number != commit.recordsRead) {
                return wrongLog("a chain's records are not in order");
            }
            commit.record = std::move(reader);
            ++commit.recordsRead;
            return Status::ok();
        }
    }
}

Status LogEvents::fill(ByteView bytes) {
    FRESHET_ASSIGN_OR_RETURN(current_.event, catalog::decodeEvent(bytes));
    current_.number = commit_->given++;
    current_.isLast = commit_->isChain() ? current_.event.kind == catalog::EventKind::kTransaction
                                         : commit_->given == commit_->all;
    current_.after = bson::Document();
    const catalog::EventKind kind = current_.event.kind;
    const bool hasAfter = catalog::isOfDocument(kind) && kind != catalog::EventKind::kDelete;
    return hasAfter ? findAfter() : Status::ok();
}

/// The document is in the put in front of the event: events are in the order of the changes.
Status LogEvents::findAfter() {
    Commit& commit = *commit_;
    const std::string key = catalog::recordKey(current_.event.record);
    const auto isIt = [&] {
        return commit.hasChange && commit.change.tree == current_.event.tree &&
               commit.change.key == key && commit.change.op == engine::CommitOp::kPut;
    };
    while (!isIt()) {
        commit.hasChange = commit.record.next(&commit.change);
        if (!commit.hasChange) {
            return wrongLog("a changed document is missing");
        }
    }
    commit.hasChange = false;  // another event is about another change
    current_.after = bson::Document(commit.change.value.data());
    return Status::ok();
}

}  // namespace freshet::command
