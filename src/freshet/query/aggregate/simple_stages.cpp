// SPDX-License-Identifier: Apache-2.0
/// Stages that hold at most one document, and $sample.
#include "freshet/bson/json.h"
#include "freshet/platform/thread.h"
#include "freshet/query/aggregate/sorting_stage.h"
#include "freshet/query/aggregate/stages.h"
#include "freshet/query/aggregate/step.h"
#include "freshet/query/match/tree.h"

#include <random>

namespace freshet::query {
namespace {

using bson::Document;
using bson::Element;

class MatchStage final : public ChainedStage {
public:
    MatchStage(PipelineRun& run, StagePtr input, std::unique_ptr<Matcher> matcher)
        : ChainedStage(run, std::move(input)), matcher_(std::move(matcher)) {}
    Status next(Output* out) override {
        for (;;) {
            FRESHET_RETURN_IF_ERROR(input().next(out));
            bool matched = out->isEnd;
            if (!matched) {
                FRESHET_RETURN_IF_ERROR(matcher_->test(out->document, &matched));
            }
            if (matched) {
                return Status::ok();
            }
            FRESHET_RETURN_IF_ERROR(checkTurn());
        }
    }
    engine::ValueShare share() const override { return input().share(); }

private:
    std::unique_ptr<Matcher> matcher_;
};

class LimitStage final : public ChainedStage {
public:
    LimitStage(PipelineRun& run, StagePtr input, int64_t limit)
        : ChainedStage(run, std::move(input)), left_(limit) {}
    Status next(Output* out) override {
        if (left_ == 0) {
            return out->end();
        }
        FRESHET_RETURN_IF_ERROR(input().next(out));
        --left_;
        return Status::ok();
    }
    engine::ValueShare share() const override { return input().share(); }

private:
    int64_t left_;
};

class SkipStage final : public ChainedStage {
public:
    SkipStage(PipelineRun& run, StagePtr input, int64_t count)
        : ChainedStage(run, std::move(input)), left_(count) {}
    Status next(Output* out) override {
        for (;;) {
            FRESHET_RETURN_IF_ERROR(input().next(out));
            if (out->isEnd || left_ == 0) {
                return Status::ok();
            }
            --left_;
            FRESHET_RETURN_IF_ERROR(checkTurn());
        }
    }
    engine::ValueShare share() const override { return input().share(); }

private:
    int64_t left_;
};

class CountStage final : public BlockingStage {
public:
    CountStage(PipelineRun& run, StagePtr input, std::string name)
        : BlockingStage(run, std::move(input)), name_(std::move(name)) {}

private:
    Status consume(Document) override {
        ++count_;
        return Status::ok();
    }
    Status give(Output* out) override {
        if (count_ == 0) {
            return out->end();
        }
        bson::Builder builder;
        builder.addAs(name_, Value::ofInteger(count_).element());
        bytes_ = builder.finish();
        count_ = 0;
        return out->give(Document(bytes_));
    }

    std::string name_;
    int64_t count_ = 0;
    std::string bytes_;
};

class StepStage final : public ChainedStage {
public:
    StepStage(PipelineRun& run, StagePtr input, std::unique_ptr<DocumentStep> step)
        : ChainedStage(run, std::move(input)), step_(std::move(step)) {}
    Status next(Output* out) override {
        FRESHET_RETURN_IF_ERROR(input().next(out));
        if (out->isEnd) {
            return Status::ok();
        }
        FRESHET_RETURN_IF_ERROR(step_->apply(out->document, &context_, &bytes_));
        return out->give(Document(bytes_));
    }

private:
    uint64_t ownBytes() const override { return bytes_.capacity(); }

    std::unique_ptr<DocumentStep> step_;
    std::string bytes_;
};

/// `count` of the documents, each equally likely, in any order: the first of a random order.
class SampleStage final : public SortingStage {
public:
    SampleStage(PipelineRun& run, StagePtr input, size_t count)
        : SortingStage(run, std::move(input), count, run.memory().limits.sort),
          random_(platform::randomSeed()) {}

private:
    Status consume(Document document) override {
        std::string key;
        appendBe64(key, random_());
        return sort(std::move(key), document.bytes());
    }

    std::mt19937_64 random_;
};

/// The number of a $limit or $skip as errors show it.
std::string shownNumber(const Element& spec) {
    return std::string(spec.name()) + ": " + bson::toShellText(spec);
}

}  // namespace

StageOr makeMatch(const PipelineMaker& maker, const Element& spec, StagePtr input) {
    if (!spec.isObject()) {
        return invalid(location(15959), "the match filter must be an expression in an object");
    }
    FRESHET_ASSIGN_OR_RETURN(auto matcher, Matcher::compile(spec.document(), maker.variables));
    FRESHET_RETURN_IF_ERROR(refuseWhere(matcher->root()));
    return StagePtr(std::make_unique<MatchStage>(maker.run, std::move(input), std::move(matcher)));
}

StageOr makeStep(const PipelineMaker& maker, const Element& spec, StagePtr input) {
    FRESHET_ASSIGN_OR_RETURN(auto step, parseStep(spec, maker.variables));
    return StagePtr(std::make_unique<StepStage>(maker.run, std::move(input), std::move(step)));
}

StageOr makeCount(const PipelineMaker& maker, const Element& spec, StagePtr input) {
    if (!spec.isString()) {
        return invalid(location(40156), "the count field must be a non-empty string");
    }
    const std::string name(spec.stringValue());
    if (name.empty()) {
        return invalid(location(40157), "the count field must be a non-empty string");
    }
    if (name[0] == '$') {
        return invalid(location(40158), "the count field cannot be a $-prefixed path");
    }
    if (name.find('\0') != name.npos) {
        return invalid(location(40159), "the count field cannot contain a null byte");
    }
    if (name.find('.') != name.npos) {
        return invalid(location(40160), "the count field cannot contain '.'");
    }
    return StagePtr(std::make_unique<CountStage>(maker.run, std::move(input), name));
}

StatusOr<int64_t> parseStageNumber(const Element& spec) {
    const bool isLimit = spec.name() == "$limit";
    const std::string prefix = "invalid argument to " + std::string(spec.name()) + " stage: ";
    const Reason reason = location(isLimit ? 5107201 : 5107200);
    int64_t number = 0;
    if (!spec.isNumber()) {
        return invalid(reason, prefix + "Expected a number in: " + shownNumber(spec));
    }
    if (!spec.toExactInt64(&number)) {
        return invalid(reason, prefix + "Expected an integer: " + shownNumber(spec));
    }
    if (number < 0) {
        return invalid(reason, prefix + "Expected a non-negative number in: " + shownNumber(spec));
    }
    if (number == 0 && isLimit) {
        return invalid(Reason::kLimitNotPositive, "the limit must be positive");
    }
    return number;
}

StageOr makeSkip(const PipelineMaker& maker, const Element& spec, StagePtr input) {
    FRESHET_ASSIGN_OR_RETURN(const int64_t count, parseStageNumber(spec));
    return StagePtr(std::make_unique<SkipStage>(maker.run, std::move(input), count));
}

StageOr makeLimit(const PipelineMaker& maker, const Element& spec, StagePtr input) {
    FRESHET_ASSIGN_OR_RETURN(const int64_t count, parseStageNumber(spec));
    return StagePtr(std::make_unique<LimitStage>(maker.run, std::move(input), count));
}

StageOr makeSample(const PipelineMaker& maker, const Element& spec, StagePtr input) {
    if (!spec.isObject()) {
        return invalid(location(28745), "the $sample stage specification must be an object");
    }
    Element size;
    for (const Element& option : spec.document()) {
        if (option.name() != "size") {
            return invalid(location(28748),
                           "unrecognized option to $sample: " + std::string(option.name()));
        }
        size = option;
    }
    if (size.isMissing()) {
        return invalid(location(28749), "$sample stage must specify a size");
    }
    if (!size.isNumber()) {
        return invalid(location(28746), "size argument to $sample must be a number");
    }
    if (size.toInt64() <= 0) {
        return invalid(location(28747), "size argument to $sample must be a positive integer");
    }
    return StagePtr(std::make_unique<SampleStage>(
        maker.run, std::move(input), static_cast<size_t>(size.toInt64())));
}

StatusOr<std::vector<bson::OwnedDocument>> evaluateDocuments(const PipelineMaker& maker,
                                                             const Element& spec) {
    FRESHET_ASSIGN_OR_RETURN(ExprPtr expression, maker.expression(spec));
    FRESHET_ASSIGN_OR_RETURN(const Value value, evaluateOnce(*expression, Document()));
    if (!value.element().isArray()) {
        return invalid(location(5858203), "an array is expected for $documents stage");
    }
    std::vector<bson::OwnedDocument> documents;
    for (const Element& member : value.element().document()) {
        if (!member.isObject()) {
            return invalid(location(40228), "$documents: all elements must be objects");
        }
        if (!bson::nestsWithin(member, kComputedNestingMax)) {
            return nestsTooDeeply();
        }
        documents.emplace_back(member.document());
    }
    return documents;
}

}  // namespace freshet::query
