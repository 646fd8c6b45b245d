// SPDX-License-Identifier: Apache-2.0
/// The commit of a transaction of several statements. A transaction holds no gate between its
/// statements, so no definition change ever waits for one. Its commit enters the gates of all
/// collections that it has written, and fails if a description has changed since: an index that was
/// made meanwhile would lack the transaction's entries.
#include "freshet/catalog/collection/changes.h"
#include "freshet/catalog/collection/make.h"
#include "freshet/catalog/gate.h"
#include "freshet/catalog/names/record.h"
#include "freshet/catalog/state/state.h"

#include <deque>

namespace freshet::catalog {
namespace {

Status conflict(const std::string& what) {
    return Status(Code::kConflict, Reason::kWriteConflict, what);
}

class CommitTransaction final : public Change {
public:
    CommitTransaction(CatalogCore& core, TransactionCommit commit)
        : core_(core), commit_(std::move(commit)) {}
    ~CommitTransaction() override { release(); }

    Status run() override {
        sync::Slice slice(core_.store.epochs());
        Status status = Status::ok();
        while (status.isOk() && step_ != Step::kDone) {
            status = step();
        }
        if (!status.isOk() && !status.isWouldBlock()) {
            release();
            step_ = Step::kDone;
        }
        return status;
    }
    const sync::WaitToken& token() const override { return token_; }
    journal::Lsn commitLsn() const override { return commitLsn_; }

private:
    enum class Step { kLock, kGates, kRecords, kLast, kCommit, kDone };

    Status step() {
        switch (step_) {
            case Step::kLock:
                FRESHET_RETURN_IF_ERROR(lock());
                step_ = Step::kGates;
                return Status::ok();
            case Step::kGates:
                FRESHET_RETURN_IF_ERROR(enterGates());
                step_ = Step::kRecords;
                return Status::ok();
            case Step::kRecords:
                FRESHET_RETURN_IF_ERROR(writeRecords());
                step_ = Step::kLast;
                return Status::ok();
            case Step::kLast:
                if (commit_.last) {
                    FRESHET_RETURN_IF_ERROR(commit_.last(*commit_.txn, &token_));
                }
                if (isLocked_) {
                    core_.beginPublication();
                    isPublishing_ = true;
                }
                step_ = Step::kCommit;
                return Status::ok();
            case Step::kCommit:
                return commit();
            case Step::kDone:
                break;
        }
        return Status::ok();
    }

    /// New names are a definition change like any other.
    Status lock() {
        if (commit_.created.empty()) {
            return Status::ok();
        }
        const Status acquired = core_.changeLock.acquire(&token_);
        if (acquired.isWouldBlock() && !commit_.written.empty()) {
            return conflict("another definition is being changed");  // as in enterGates()
        }
        FRESHET_RETURN_IF_ERROR(acquired);
        isLocked_ = true;
        for (const auto& made : commit_.created) {
            if (core_.find(made->db, made->name) != nullptr) {
                return conflict("another operation has created " + made->ns());
            }
            FRESHET_RETURN_IF_ERROR(checkDatabaseCase(*core_.names(), made->db));
        }
        return Status::ok();
    }

    /// It never waits for a gate: the change that has closed it may wait for a writer inside, and
    /// that one for this transaction.
    Status enterGates() {
        for (const CollectionRef& collection : commit_.written) {
            const Status status = passes_.emplace_back().enter(collection->gate, &token_);
            if (!status.isOk()) {
                passes_.clear();
                return conflict(status.isWouldBlock()
                                    ? "the definition of " + collection->ns() + " is being changed"
                                    : collection->ns() + " has been dropped");
            }
            if (newerDescription(*collection) != nullptr) {
                return conflict("the definition of " + collection->ns() + " has changed");
            }
        }
        return Status::ok();
    }

    Status writeRecords() {
        for (; recorded_ < commit_.created.size(); ++recorded_) {
            const Collection& made = *commit_.created[recorded_];
            Status status = commit_.txn->put(
                *made.state->catalogTree, catalogKey(made.db, made.name), recordOf(made).encode());
            if (status.isWouldBlock()) {
                token_ = commit_.txn->token();
            }
            FRESHET_RETURN_IF_ERROR(status);
        }
        return Status::ok();
    }

    Status commit() {
        Status status = commit_.txn->commit();
        if (status.isWouldBlock()) {
            token_ = commit_.txn->token();
        }
        FRESHET_RETURN_IF_ERROR(status);
        commitLsn_ = commit_.txn->hasWrites() ? commit_.txn->commitLsn() : 0;
        publish();
        release();
        step_ = Step::kDone;
        return Status::ok();
    }

    void publish() {
        if (commit_.created.empty()) {
            return;
        }
        const uint64_t since = core_.snapshotNow();
        for (const auto& made : commit_.created) {
            made->since = since;
            made->state->isPending = false;
        }
        core_.publish([&](NameMap* map) {
            for (const auto& made : commit_.created) {
                map->set(made);
            }
        });
    }

    void release() {
        passes_.clear();
        if (std::exchange(isPublishing_, false)) {
            core_.endPublication();
        }
        if (std::exchange(isLocked_, false)) {
            core_.changeLock.release();
        }
    }

    CatalogCore& core_;
    TransactionCommit commit_;
    Step step_ = Step::kLock;
    bool isLocked_ = false;
    bool isPublishing_ = false;
    std::deque<GatePass> passes_;
    size_t recorded_ = 0;
    sync::WaitToken token_;
    journal::Lsn commitLsn_ = 0;
};

}  // namespace

std::unique_ptr<Change> makeTransactionCommit(CatalogCore& core, TransactionCommit commit) {
    return std::make_unique<CommitTransaction>(core, std::move(commit));
}

}  // namespace freshet::catalog
