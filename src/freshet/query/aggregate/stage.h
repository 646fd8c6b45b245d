// SPDX-License-Identifier: Apache-2.0
/// Stages: a running pipeline. Each stage pulls documents from the stage before it. A stage that
/// has to wait (for a page, or to let others run) returns WouldBlock through all of them, and
/// continues where it was when it is called again. A run belongs to one thread while it is
/// attached.
///
/// INV-1  A stage called again after WouldBlock has lost nothing and repeats nothing.
/// INV-2  What a stage keeps between two calls of next() is its own copy: the run may be
///        detached in between, and the storage's bytes are then invalid.
#pragma once

#include "freshet/catalog/catalog.h"
#include "freshet/query/exec/row_stream.h"
#include "freshet/query/expression/expression.h"
#include "freshet/query/spill.h"
#include "freshet/query/tail.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace freshet::query {

/// A document on its way to the next stage; its bytes are valid until the next call of the stage
/// that gave it.
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

/// What the stages of a pipeline over a TailSource share.
struct Tail {
    std::unique_ptr<TailSource> source;
    int32_t skipParts = 0;  // of the first document, that are not given again
    uint64_t given = 0;     // documents, by the source
    bson::Element id;       // of the document that the source gave last
    bool isDry = false;     // the last call has found that there is nothing more now
    size_t partsLeft = 0;   // of that document, if it is given in parts
};

/// What the stages of one run share, including those of inner pipelines.
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
    /// WouldBlock when the turn is over; must be called in every loop.
    Status checkTurn();
    /// What to wait for after WouldBlock.
    const sync::WaitToken& token() const { return token_; }
    void waitFor(const sync::WaitToken& token) { token_ = token; }

    const std::string& db() const { return db_; }
    bson::Document variables() const { return variables_.view(); }
    const MemoryRules& memory() const { return memory_; }
    /// What stages have spilled; they add to it.
    SpillCounts* spilled() { return &spilled_; }
    int64_t nowMillis() const { return nowMillis_; }
    catalog::CollectionRef find(std::string_view db, std::string_view collection) const {
        return find_ ? find_(db, collection) : nullptr;
    }

    /// Sets the documents of the pipeline's first stage, which the caller supplies. They are taken
    /// once.
    void bring(std::optional<std::vector<bson::OwnedDocument>> source) {
        source_ = std::move(source);
    }
    std::optional<std::vector<bson::OwnedDocument>> takeSource() {
        return std::exchange(source_, std::nullopt);
    }

    /// Sets what the pipeline's first stage, $changeStream, reads from.
    void follow(std::unique_ptr<TailSource> source, int32_t skipParts) {
        tail_.emplace();
        tail_->source = std::move(source);
        tail_->skipParts = skipParts;
    }
    /// Null: it reads collections, or nothing.
    Tail* tail() { return tail_.has_value() ? &*tail_ : nullptr; }
    const Tail* tail() const { return tail_.has_value() ? &*tail_ : nullptr; }

    /// Adds a stream that is attached and detached with the run.
    void add(RowStream* stream);
    void remove(RowStream* stream);
    /// Of all streams, including destroyed ones.
    WorkDone work() const;

private:
    std::string db_;
    FindCollection find_;
    bson::OwnedDocument variables_;
    int64_t nowMillis_;
    const MemoryRules memory_;
    SpillCounts spilled_;
    std::optional<std::vector<bson::OwnedDocument>> source_;
    std::optional<Tail> tail_;
    engine::Txn* txn_ = nullptr;
    Turn turn_;
    sync::WaitToken token_ = sync::WaitToken::completed();
    std::vector<RowStream*> streams_;
    WorkDone workOfGone_;
};

class Stage {
public:
    virtual ~Stage() = default;
    /// The next document, or out->isEnd; after the end always the end. WouldBlock: wait for the
    /// run's token and call again.
    virtual Status next(Output* out) = 0;
    /// A share of the document that next() gave, if it is large and unchanged from storage; else
    /// empty.
    virtual engine::ValueShare share() const { return {}; }
    /// About how many bytes of its input this stage and those before it hold.
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
    /// If `status` is WouldBlock, makes the run wait for `token`.
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

/// A stage that reads all of its input before it gives a document.
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
    /// WouldBlock: the document was taken nevertheless.
    virtual Status consume(bson::Document document) = 0;
    /// Called before each consume(). WouldBlock: the work that the last one started is not
    /// finished.
    virtual Status settle() { return Status::ok(); }
    /// The input has ended. Not called again after it has returned ok.
    virtual Status finish() { return Status::ok(); }
    /// As next().
    virtual Status give(Output* out) = 0;

private:
    bool collected_ = false;
};

/// Documents of a collection, by index if one serves the filter. `collection` may be null.
struct CollectionRequest {
    catalog::CollectionRef collection;
    bson::OwnedDocument filter;
    bson::OwnedDocument sort;
    bson::OwnedDocument hint;
    uint64_t keep = 0;           // only the first `keep` of a sort are wanted; 0: all
    bool needsDocuments = true;  // false: they are only counted
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
/// Gives the documents of a list.
StagePtr makeListStage(std::vector<bson::OwnedDocument> documents);

}  // namespace freshet::query
