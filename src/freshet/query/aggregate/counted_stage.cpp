// SPDX-License-Identifier: Apache-2.0
/// Counts a collection's documents when a pipeline wants nothing else, as drivers send it for
/// countDocuments. Whole pages are skipped, and an index alone may be enough.
#include "freshet/query/aggregate/counted_stage.h"

#include "freshet/query/group/group_fields.h"

#include <algorithm>

namespace freshet::query {
namespace {

using bson::Element;

class CountedStage final : public Stage {
public:
    CountedStage(PipelineRun& run, std::unique_ptr<RowStream> stream, CountedStart start)
        : run_(run), stream_(std::move(stream)), start_(std::move(start)) {
        run_.add(stream_.get());
    }
    ~CountedStage() override { run_.remove(stream_.get()); }

    Status next(Output* out) override {
        if (!isDone_) {
            Status status = count();
            if (status.isWouldBlock()) {
                run_.waitFor(stream_->token());
            }
            FRESHET_RETURN_IF_ERROR(std::move(status));
            isDone_ = true;
            if (counted_ > start_.skip) {
                return out->give(result());
            }
        }
        return out->end();
    }

private:
    /// Includes the documents to be skipped.
    Status count() {
        const uint64_t wanted = start_.skip + start_.limit;
        uint64_t passed = 0;
        const Status status = stream_->passOver(wanted - counted_, &passed);
        counted_ += passed;
        FRESHET_RETURN_IF_ERROR(status);
        while (counted_ < wanted) {
            Row row;
            FRESHET_RETURN_IF_ERROR(stream_->next(&row));
            if (row.id == 0) {
                break;
            }
            ++counted_;
        }
        return Status::ok();
    }

    bson::Document result() {
        bson::Builder builder;
        builder.addFields(start_.key.view());
        const auto number = static_cast<int64_t>(counted_ - start_.skip);
        builder.addAs(start_.name, Value::ofInteger(number).element());
        bytes_ = builder.finish();
        return bson::Document(bytes_);
    }

    PipelineRun& run_;
    std::unique_ptr<RowStream> stream_;
    const CountedStart start_;
    uint64_t counted_ = 0;
    bool isDone_ = false;
    std::string bytes_;
};

/// {$sum: 1} or {$count: {}}: a number that stays a 32-bit integer while it fits.
bool isOneEach(const Element& field) {
    const Element accumulator = *field.document().begin();
    if (accumulator.name() == "$count") {
        return true;
    }
    return accumulator.name() == "$sum" && accumulator.type() == bson::Type::kInt32 &&
           accumulator.int32Value() == 1;
}

/// {$group: {_id: constant, name: <one each>}}
bool takeGroup(const PipelineMaker& maker, const Element& spec, CountedStart* start) {
    if (!spec.isObject() || spec.document().fieldCount() != 2) {
        return false;
    }
    auto field = spec.document().begin();
    const Element id = *field;
    const Element number = *++field;
    ExprScope scope(maker.variables);
    if (id.name() != "_id" || !parseGroupField(number, &scope).isOk() || !isOneEach(number)) {
        return false;
    }
    const auto expression = maker.expression(id);
    if (!expression.isOk() || !(*expression)->isConstant()) {
        return false;
    }
    const auto value = evaluateOnce(**expression, bson::Document());
    if (!value.isOk() || value->isMissing()) {
        return false;
    }
    bson::Builder builder;
    builder.addAs("_id", value->element());
    start->key = bson::OwnedDocument(builder.finish());
    start->name = number.name();
    return true;
}

/// Errors of a stage are reported when the stage is made.
bool takeNumber(const Element& spec, uint64_t* number) {
    const StatusOr<int64_t> parsed = parseStageNumber(spec);
    *number = parsed.isOk() ? static_cast<uint64_t>(*parsed) : 0;
    return parsed.isOk();
}

}  // namespace

std::optional<CountedStart> countedStart(const PipelineMaker& maker,
                                         const ArrangedPipeline& pipeline) {
    const std::vector<Element>& specs = pipeline.rest;
    const auto isNext = [&](size_t at, std::string_view name) {
        return at < specs.size() && specs[at].name() == name;
    };
    CountedStart start;
    bool isGood = pipeline.sort.view().isEmpty();
    if (isNext(start.stages, "$skip")) {
        isGood = isGood && takeNumber(specs[start.stages++], &start.skip);
    }
    if (isNext(start.stages, "$limit")) {
        isGood = isGood && takeNumber(specs[start.stages++], &start.limit);
    }
    isGood =
        isGood && isNext(start.stages, "$group") && takeGroup(maker, specs[start.stages++], &start);
    return isGood ? std::optional(std::move(start)) : std::nullopt;
}

StagePtr makeCounted(PipelineRun& run, std::unique_ptr<RowStream> stream, CountedStart start) {
    return std::make_unique<CountedStage>(run, std::move(stream), std::move(start));
}

}  // namespace freshet::query
