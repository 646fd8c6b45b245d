// SPDX-License-Identifier: Apache-2.0
/// Stages: a pipeline running. Each stage pulls documents from the one before it, so one that has
/// to wait (for a page, or to let others run) returns WouldBlock through all of them and goes on
/// where it was when it is called again. A run belongs to one thread while it is attached.
///
/// INV-1  A stage that is called again after WouldBlock has lost nothing and repeats nothing.
/// INV-2  What a stage keeps between two calls of next() is its own copy: the run may have been
///        detached in between, and the storage's bytes are gone then.
#pragma once

#include "freshet/catalog/catalog.h"
#include "freshet/query/exec/row_stream.h"
#include "freshet/query/expression/expression.h"
#include "freshet/query/spill.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace freshet::query {

/// A document on its way to the next stage; its bytes are good until the next call of that stage.
struct Output {
    bson::Document document;
    bool isEnd = false;

    Status give(bson::Document next) {
        document = next;
        isEnd = false;
        return Status::ok();
    }
    Status end() {
        isEnd = true;
        return Status::ok();
    }
};

/// What the stages of one run share, those of inner pipelines too.
class PipelineRun {
public:
    using FindCollection =
        std::function<catalog::CollectionRef(std::string_view db, std::string_view collection)>;

    PipelineRun(std::string db,
                FindCollection find,
                bson::Document variables,
                const MemoryRules& memory = {});

    void attach(engine::Txn& txn);
    void detach();
    bool isAttached() const { return txn_ != nullptr; }
    void startTurn();
    /// WouldBlock when the turn is over; call it in every loop.
    Status checkTurn();
    /// What to wait for after WouldBlock.
    const sync::WaitToken& token() const { return token_; }
    void waitFor(const sync::WaitToken& token) { token_ = token; }

    const std::string& db() const { return db_; }
    bson::Document variables() const { return variables_.view(); }
    const MemoryRules& memory() const { return memory_; }
    /// What stages have spilled, added up by them.
    SpillCounts* spilled() { return &spilled_; }
    int64_t nowMillis() const { return nowMillis_; }
    catalog::CollectionRef find(std::string_view db, std::string_view collection) const {
        return find_ ? find_(db, collection) : nullptr;
    }

    /// The documents of the pipeline's first stage, brought by who runs it. Taken once.
    void bring(std::optional<std::vector<bson::OwnedDocument>> source) {
        source_ = std::move(source);
    }
    std::optional<std::vector<bson::OwnedDocument>> takeSource() {
        return std::exchange(source_, std::nullopt);
    }

    /// Streams are attached and detached with the run.
    void add(RowStream* stream);
    void remove(RowStream* stream);
    /// Of all streams, also those that are gone.
    WorkDone work() const;

private:
    std::string db_;
    FindCollection find_;
    bson::OwnedDocument variables_;
    int64_t nowMillis_;
    const MemoryRules memory_;
    SpillCounts spilled_;
    std::optional<std::vector<bson::OwnedDocument>> source_;
    engine::Txn* txn_ = nullptr;
    Turn turn_;
    sync::WaitToken token_ = sync::WaitToken::completed();
    std::vector<RowStream*> streams_;
    WorkDone workOfGone_;
};

class Stage {
public:
    virtual ~Stage() = default;
    /// The next document, or out->isEnd; after the end only the end. WouldBlock: wait for the run's
    /// token and call again.
    virtual Status next(Output* out) = 0;
    /// Of the document that next() gave, when it is large and as it was stored; else empty.
    virtual engine::ValueShare share() const { return {}; }
    /// About how much it and those before it hold of what has come through.
    virtual uint64_t heldBytes() const { return 0; }
};
using StagePtr = std::unique_ptr<Stage>;

/// A stage with one before it.
class ChainedStage : public Stage {
public:
    uint64_t heldBytes() const final { return ownBytes() + input_->heldBytes(); }

protected:
    virtual uint64_t ownBytes() const { return 0; }
    ChainedStage(PipelineRun& run, StagePtr input) : run_(run), input_(std::move(input)) {
        context_.nowMillis = run.nowMillis();
    }
    Stage& input() { return *input_; }
    const Stage& input() const { return *input_; }
    Status checkTurn() { return run_.checkTurn(); }
    /// Makes `token` what the run waits for if `status` says to wait.
    Status waiting(Status status, const sync::WaitToken& token) {
        if (status.isWouldBlock()) {
            run_.waitFor(token);
        }
        return status;
    }

    PipelineRun& run_;
    ExprContext context_;

private:
    StagePtr input_;
};

/// A stage that reads all of its input before it gives anything.
class BlockingStage : public ChainedStage {
public:
    Status next(Output* out) final {
        while (!collected_) {
            FRESHET_RETURN_IF_ERROR(settle());
            Output in;
            FRESHET_RETURN_IF_ERROR(input().next(&in));
            if (in.isEnd) {
                FRESHET_RETURN_IF_ERROR(finish());
                collected_ = true;
                break;
            }
            FRESHET_RETURN_IF_ERROR(consume(in.document));
            FRESHET_RETURN_IF_ERROR(checkTurn());
        }
        return give(out);
    }

protected:
    using ChainedStage::ChainedStage;
    /// WouldBlock: the document was taken all the same.
    virtual Status consume(bson::Document document) = 0;
    /// Before each consume(). WouldBlock: what was begun by the last one is still being done.
    virtual Status settle() { return Status::ok(); }
    /// The input is at its end. Not called again when it has returned ok.
    virtual Status finish() { return Status::ok(); }
    /// As next().
    virtual Status give(Output* out) = 0;

private:
    bool collected_ = false;
};

/// A collection's documents, by index where there is one for the filter. `collection` may be null.
struct CollectionRequest {
    catalog::CollectionRef collection;
    bson::OwnedDocument filter;
    bson::OwnedDocument sort;
    bson::OwnedDocument hint;
    uint64_t keep = 0;           // only the first so many of a sort are wanted; 0: all
    bool needsDocuments = true;  // else they are only counted
};
/// `describe`: the plan as explain shows it; may be null. Null without a collection.
StatusOr<std::unique_ptr<RowStream>> makeCollectionStream(PipelineRun& run,
                                                          CollectionRequest request,
                                                          bson::Document variables,
                                                          bson::OwnedDocument* describe);
StatusOr<StagePtr> makeCollectionStage(PipelineRun& run,
                                       CollectionRequest request,
                                       bson::Document variables);
/// `stream` may be null: no documents.
StagePtr makeStreamStage(PipelineRun& run, std::unique_ptr<RowStream> stream);
/// Documents given beforehand.
StagePtr makeListStage(std::vector<bson::OwnedDocument> documents);

}  // namespace freshet::query
