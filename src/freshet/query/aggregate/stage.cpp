// SPDX-License-Identifier: Apache-2.0
/// What stages share, and the stages that produce documents.
#include "freshet/query/aggregate/stage.h"

#include <algorithm>

namespace freshet::query {
namespace {

int64_t nowOf(bson::Document variables) {
    const bson::Element now = variables.find("NOW");
    return now.type() == bson::Type::kDate ? now.dateMillis() : platform::wallMillis();
}

class CollectionStage final : public Stage {
public:
    CollectionStage(PipelineRun& run, std::unique_ptr<RowStream> stream)
        : run_(run), stream_(std::move(stream)) {
        run_.add(stream_.get());
    }
    ~CollectionStage() override { run_.remove(stream_.get()); }

    Status next(Output* out) override {
        if (atEnd_) {
            return out->end();
        }
        Row row;
        Status status = stream_->next(&row);
        if (status.isWouldBlock()) {
            run_.waitFor(stream_->token());
        }
        FRESHET_RETURN_IF_ERROR(std::move(status));
        atEnd_ = row.id == 0;
        return atEnd_ ? out->end() : out->give(row.document);
    }
    engine::ValueShare share() const override { return stream_->share(); }
    uint64_t heldBytes() const override { return kCursorBytes + stream_->heldBytes(); }

private:
    PipelineRun& run_;
    std::unique_ptr<RowStream> stream_;
    bool atEnd_ = false;
};

class ListStage final : public Stage {
public:
    explicit ListStage(std::vector<bson::OwnedDocument> documents)
        : documents_(std::move(documents)), bytes_(bson::bytesOf(documents_)) {}
    uint64_t heldBytes() const override { return bytes_; }
    Status next(Output* out) override {
        return next_ == documents_.size() ? out->end() : out->give(documents_[next_++].view());
    }

private:
    const std::vector<bson::OwnedDocument> documents_;
    const uint64_t bytes_;
    size_t next_ = 0;
};

}  // namespace

PipelineRun::PipelineRun(std::string db,
                         FindCollection find,
                         bson::Document variables,
                         const MemoryRules& memory)
    : db_(std::move(db)),
      find_(std::move(find)),
      variables_(variables),
      nowMillis_(nowOf(variables)),
      memory_(memory) {
    startTurn();
}

void PipelineRun::attach(engine::Txn& txn) {
    txn_ = &txn;
    for (RowStream* stream : streams_) {
        stream->attach(txn);
    }
}

void PipelineRun::detach() {
    for (RowStream* stream : streams_) {
        stream->detach();
    }
    txn_ = nullptr;
}

void PipelineRun::startTurn() {
    turn_.start();
    for (RowStream* stream : streams_) {
        stream->startTurn();
    }
}

Status PipelineRun::checkTurn() {
    if (!turn_.isOver()) {
        return Status::ok();
    }
    token_ = sync::WaitToken::completed();
    return Status::wouldBlock();
}

void PipelineRun::add(RowStream* stream) {
    streams_.push_back(stream);
    stream->startTurn();
    if (txn_ != nullptr) {
        stream->attach(*txn_);
    }
}

void PipelineRun::remove(RowStream* stream) {
    if (txn_ != nullptr) {
        stream->detach();
    }
    workOfGone_.add(stream->work());
    streams_.erase(std::find(streams_.begin(), streams_.end(), stream));
}

WorkDone PipelineRun::work() const {
    WorkDone total;
    for (const RowStream* stream : streams_) {
        total.add(stream->work());
    }
    total.add(workOfGone_);
    total.addSpilled(spilled_);
    return total;
}

StatusOr<std::unique_ptr<RowStream>> makeCollectionStream(PipelineRun& run,
                                                          CollectionRequest request,
                                                          bson::Document variables,
                                                          bson::OwnedDocument* describe) {
    FRESHET_ASSIGN_OR_RETURN(auto matcher, Matcher::compile(request.filter.view(), variables));
    if (request.collection == nullptr) {
        if (describe != nullptr) {
            bson::Builder builder;
            builder.add("stage", "EOF");
            *describe = bson::OwnedDocument(builder.finish());
        }
        return std::unique_ptr<RowStream>();
    }
    StreamRequest streamRequest;
    streamRequest.collection = std::move(request.collection);
    streamRequest.matcher = std::move(matcher);
    streamRequest.sort = std::move(request.sort);
    streamRequest.hint = std::move(request.hint);
    streamRequest.keep = request.keep;
    streamRequest.memory = run.memory();
    streamRequest.needsDocuments = request.needsDocuments;
    FRESHET_ASSIGN_OR_RETURN(auto stream, RowStream::make(std::move(streamRequest)));
    if (describe != nullptr) {
        *describe = stream->describe();
    }
    return stream;
}

StatusOr<StagePtr> makeCollectionStage(PipelineRun& run,
                                       CollectionRequest request,
                                       bson::Document variables) {
    FRESHET_ASSIGN_OR_RETURN(auto stream,
                             makeCollectionStream(run, std::move(request), variables, nullptr));
    return makeStreamStage(run, std::move(stream));
}

StagePtr makeStreamStage(PipelineRun& run, std::unique_ptr<RowStream> stream) {
    return stream == nullptr ? makeListStage({})
                             : std::make_unique<CollectionStage>(run, std::move(stream));
}

StagePtr makeListStage(std::vector<bson::OwnedDocument> documents) {
    return std::make_unique<ListStage>(std::move(documents));
}

}  // namespace freshet::query
