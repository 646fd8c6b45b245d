// SPDX-License-Identifier: Apache-2.0
/// $bucket, a $group by the boundary below a value, and $bucketAuto, which finds the boundaries
/// itself.
#include "freshet/bson/compare.h"
#include "freshet/bson/json.h"
#include "freshet/bson/keyform.h"
#include "freshet/query/aggregate/sorting_stage.h"
#include "freshet/query/aggregate/stages.h"
#include "freshet/query/aggregate/step.h"
#include "freshet/query/group/group_fields.h"

#include <algorithm>
#include <optional>

namespace freshet::query {
namespace {

using bson::Builder;
using bson::Document;
using bson::Element;

bool isExpressionLike(const Element& groupBy) {
    return groupBy.isString() ? groupBy.stringValue().starts_with('$')
                              : groupBy.isObject() && !groupBy.document().isEmpty() &&
                                    groupBy.document().begin()->name().starts_with('$');
}

struct BucketText {
    Element groupBy;
    Element boundaries;
    Element defaultBucket;
    Element output;
};

StatusOr<BucketText> readBucket(const Element& spec) {
    if (!spec.isObject()) {
        return invalid(
            location(40201),
            "Argument to $bucket stage must be an object, but found type: " + typeOf(spec) + ".");
    }
    BucketText text;
    for (const Element& option : spec.document()) {
        if (option.name() == "groupBy") {
            text.groupBy = option;
        } else if (option.name() == "boundaries") {
            text.boundaries = option;
        } else if (option.name() == "default") {
            text.defaultBucket = option;
        } else if (option.name() == "output") {
            text.output = option;
        } else {
            return invalid(location(40197),
                           "Unrecognized option to $bucket: " + std::string(option.name()) + ".");
        }
    }
    if (text.groupBy.isMissing() || text.boundaries.isMissing()) {
        return invalid(location(40198),
                       "$bucket requires 'groupBy' and 'boundaries' to be specified.");
    }
    if (!isExpressionLike(text.groupBy)) {
        return invalid(location(40202),
                       "The $bucket 'groupBy' field must be defined as a $-prefixed path or an "
                       "expression, but found: " +
                           bson::toShellText(text.groupBy) + ".");
    }
    if (!text.boundaries.isArray()) {
        return invalid(location(40200),
                       "The $bucket 'boundaries' field must be an array, but found type: " +
                           typeOf(text.boundaries) + ".");
    }
    if (!text.output.isMissing() && !text.output.isObject()) {
        return invalid(location(40196),
                       "The $bucket 'output' field must be an object, but found type: " +
                           typeOf(text.output) + ".");
    }
    return text;
}

/// The value of a constant; nothing if the expression is not constant.
StatusOr<std::optional<Value>> constantOf(const Element& element, ExprScope* scope) {
    FRESHET_ASSIGN_OR_RETURN(ExprPtr expression, parseExpression(element, scope));
    if (!expression->isConstant()) {
        return std::optional<Value>();
    }
    FRESHET_ASSIGN_OR_RETURN(const Value value, evaluateOnce(*expression, Document()));
    return std::optional<Value>(value.own());
}

StatusOr<std::vector<Value>> readBoundaries(const Element& array, ExprScope* scope) {
    std::vector<Value> boundaries;
    for (const Element& member : array.document()) {
        FRESHET_ASSIGN_OR_RETURN(std::optional<Value> boundary, constantOf(member, scope));
        if (!boundary.has_value()) {
            return invalid(location(40191),
                           "The $bucket 'boundaries' field must be an array of constant values, "
                           "but found value: " +
                               bson::toShellText(member) + ".");
        }
        boundaries.push_back(*std::move(boundary));
    }
    if (boundaries.size() < 2) {
        return invalid(location(40192),
                       "The $bucket 'boundaries' field must have at least 2 values, but found " +
                           std::to_string(boundaries.size()) + " value(s).");
    }
    for (size_t i = 1; i < boundaries.size(); ++i) {
        const Element& low = boundaries[i - 1].element();
        const Element& high = boundaries[i].element();
        if (bson::canonicalClass(low.type()) != bson::canonicalClass(high.type())) {
            return invalid(location(40193),
                           "All values in the the 'boundaries' option to $bucket must have the "
                           "same type. Found conflicting types " +
                               typeOf(low) + " and " + typeOf(high) + ".");
        }
        if (bson::compareValues(low, high) >= 0) {
            return invalid(location(40194),
                           "The 'boundaries' option to $bucket must be sorted, but elements " +
                               std::to_string(i - 1) + " and " + std::to_string(i) +
                               " are not in ascending order (" + bson::toShellText(low) +
                               " is "
                               "not less than " +
                               bson::toShellText(high) + ").");
        }
    }
    return boundaries;
}

/// The lower boundary of the bucket that a value belongs to.
class BucketOf final : public Expression {
public:
    BucketOf(ExprPtr groupBy, std::vector<Value> boundaries, Value defaultBucket)
        : groupBy_(std::move(groupBy)),
          boundaries_(std::move(boundaries)),
          default_(std::move(defaultBucket)) {}
    Value evaluate(ExprContext& context) const override {
        const Value value = groupBy_->evaluate(context);
        const auto next = std::upper_bound(
            boundaries_.begin(), boundaries_.end(), value, [](const Value& a, const Value& b) {
                return bson::compareValues(a.element(), b.element()) < 0;
            });
        if (next != boundaries_.begin() && next != boundaries_.end()) {
            return *(next - 1);
        }
        return default_.isMissing()
                   ? context.fail(Reason::kSwitchNoBranch,
                                  "$switch could not find a matching branch for an input, and no "
                                  "default was specified.")
                   : default_;
    }

private:
    ExprPtr groupBy_;
    std::vector<Value> boundaries_;  // ascending
    Value default_;
};

StatusOr<SortPattern> sortById() {
    Builder builder;
    builder.add("_id", int32_t{1});
    const std::string bytes = builder.finish();
    return SortPattern::compile(Document(bytes));
}

/// Sorts its input by the expression and cuts it into buckets of about equal size. It sorts values
/// together with their documents; only one bucket at a time is in memory.
class BucketAutoStage final : public SortingStage {
public:
    BucketAutoStage(PipelineRun& run,
                    StagePtr input,
                    ExprPtr groupBy,
                    size_t buckets,
                    std::vector<GroupField> fields)
        : SortingStage(run, std::move(input), 0, run.memory().limits.bucketAuto),
          groupBy_(std::move(groupBy)),
          buckets_(buckets),
          fields_(std::move(fields), run.memory().limits) {}

private:
    Status consume(Document document) override {
        context_.root = document;
        Value value = groupBy_->evaluate(context_);
        if (context_.failed()) {
            return context_.error;
        }
        if (value.isMissing()) {
            value = Value::null();
        }
        ++documents_;
        std::string key;
        bson::appendKeyForm(value.element(), false, &key, nullptr);
        std::string payload;
        appendValue(value, &payload);
        payload += document.bytes();
        return sort(std::move(key), payload);
    }

    /// A bucket is complete when the first document of the next one comes.
    Status give(Output* out) override {
        while (!isEnd_) {
            SpillRecord record;
            FRESHET_RETURN_IF_ERROR(nextSorted(&record, &isEnd_));
            if (isEnd_) {
                break;
            }
            const bool isNext = inBucket_ > 0 && isFull() && record.key != lastKey_;
            FRESHET_RETURN_IF_ERROR(isNext ? endBucket(record) : Status::ok());
            FRESHET_RETURN_IF_ERROR(take(record));
            if (isNext) {
                return out->give(Document(bytes_));
            }
        }
        if (inBucket_ == 0) {
            return out->end();
        }
        FRESHET_ASSIGN_OR_RETURN(bytes_, describe(last_));
        inBucket_ = 0;
        return out->give(Document(bytes_));
    }

    /// The last bucket takes the rest.
    bool isFull() const {
        const uint64_t wanted =
            std::max<uint64_t>(1, (documents_ + buckets_ / 2) / buckets_);  // rounded
        return inBucket_ >= wanted && ended_ + 1 < buckets_;
    }

    Status take(const SpillRecord& record) {
        ValueReader payload(record.payload);
        const Value value = payload.next();
        if (inBucket_ == 0) {
            size_t bytes = 0;
            FRESHET_ASSIGN_OR_RETURN(states_, fields_.makeStates(context_, Value(), &bytes));
            first_ = value.own();
        }
        ++inBucket_;
        last_ = value.own();
        lastKey_ = record.key;
        context_.root = Document(payload.rest().data());
        FRESHET_ASSIGN_OR_RETURN(const auto arguments, fields_.evaluate(context_));
        size_t bytes = 0;
        return fields_.add(context_, arguments, &states_, &bytes);
    }

    Status endBucket(const SpillRecord& next) {
        FRESHET_ASSIGN_OR_RETURN(bytes_, describe(ValueReader(next.payload).next()));
        ++ended_;
        inBucket_ = 0;
        return Status::ok();
    }

    StatusOr<std::string> describe(const Value& upper) {
        Builder id;
        id.addAs("min", first_.element());
        id.addAs("max", upper.element());
        return fields_.result(Value::ofDocument(id.finish()), std::move(states_));
    }

    ExprPtr groupBy_;
    size_t buckets_;
    GroupFields fields_;
    uint64_t documents_ = 0;
    bool isEnd_ = false;
    uint64_t ended_ = 0;     // buckets
    uint64_t inBucket_ = 0;  // documents
    GroupStates states_;
    Value first_;
    Value last_;
    std::string lastKey_;
    std::string bytes_;
};

StatusOr<std::vector<GroupField>> readOutput(const PipelineMaker& maker, const Element& output) {
    std::vector<GroupField> fields;
    if (output.isMissing()) {
        FRESHET_ASSIGN_OR_RETURN(GroupField count, makeCountField("count"));
        fields.push_back(std::move(count));
        return fields;
    }
    if (!output.isObject()) {
        return invalid(location(40244),
                       "The $bucketAuto 'output' field must be an object, but found type: " +
                           typeOf(output) + ".");
    }
    ExprScope scope(maker.variables);
    for (const Element& field : output.document()) {
        FRESHET_ASSIGN_OR_RETURN(GroupField parsed, parseGroupField(field, &scope));
        fields.push_back(std::move(parsed));
    }
    return fields;
}

Status checkBuckets(const Element& buckets, int64_t* count) {
    if (!buckets.isNumber()) {
        return invalid(location(40241),
                       "The $bucketAuto 'buckets' field must be a numeric value, but found type: " +
                           typeOf(buckets) + ".");
    }
    if (!buckets.toExactInt64(count) || *count > INT32_MAX || *count < INT32_MIN) {
        return invalid(location(40242),
                       "The $bucketAuto 'buckets' field must be representable as a 32-bit "
                       "integer, but found " +
                           bson::toShellText(buckets));
    }
    if (*count <= 0) {
        return invalid(location(40243),
                       "The $bucketAuto 'buckets' field must be greater than 0, but found: " +
                           std::to_string(*count) + ".");
    }
    return Status::ok();
}

}  // namespace

StageOr makeBucket(const PipelineMaker& maker, const Element& spec, StagePtr input) {
    FRESHET_ASSIGN_OR_RETURN(const BucketText text, readBucket(spec));
    ExprScope scope(maker.variables);
    FRESHET_ASSIGN_OR_RETURN(auto boundaries, readBoundaries(text.boundaries, &scope));
    Value defaultBucket;
    if (!text.defaultBucket.isMissing()) {
        FRESHET_ASSIGN_OR_RETURN(std::optional<Value> constant,
                                 constantOf(text.defaultBucket, &scope));
        if (!constant.has_value()) {
            return invalid(
                location(40195),
                "The $bucket 'default' field must be a constant expression, but found: " +
                    bson::toShellText(text.defaultBucket) + ".");
        }
        defaultBucket = *std::move(constant);
        const Element& value = defaultBucket.element();
        const bool within = bson::compareValues(value, boundaries.front().element()) >= 0 &&
                            bson::compareValues(value, boundaries.back().element()) < 0;
        if (within) {
            return invalid(location(40199),
                           "The $bucket 'default' field must be less than the lowest boundary or "
                           "greater than or equal to the highest boundary.");
        }
    }
    FRESHET_ASSIGN_OR_RETURN(ExprPtr groupBy, maker.expression(text.groupBy));
    auto bucket = std::make_shared<BucketOf>(
        std::move(groupBy), std::move(boundaries), std::move(defaultBucket));
    Builder builder;
    if (text.output.isObject()) {
        builder.addFields(text.output.document());
    } else {
        Builder count = builder.object("count");
        count.add("$sum", int32_t{1});
    }
    const std::string fields = builder.finish();
    FRESHET_ASSIGN_OR_RETURN(
        StagePtr grouped,
        makeGroupBy(maker, std::move(bucket), Document(fields), std::move(input)));
    FRESHET_ASSIGN_OR_RETURN(SortPattern pattern, sortById());
    return makeSort(maker.run, std::move(grouped), std::move(pattern), 0);
}

StageOr makeBucketAuto(const PipelineMaker& maker, const Element& spec, StagePtr input) {
    if (!spec.isObject()) {
        return invalid(
            location(40240),
            "The argument to $bucketAuto must be an object, but found type: " + typeOf(spec) + ".");
    }
    Element groupBy;
    Element buckets;
    Element output;
    for (const Element& option : spec.document()) {
        if (option.name() == "groupBy") {
            groupBy = option;
        } else if (option.name() == "buckets") {
            buckets = option;
        } else if (option.name() == "output") {
            output = option;
        } else if (option.name() == "granularity") {
            return Status(Code::kUnsupported,
                          "$bucketAuto's 'granularity' is not supported by this server");
        } else {
            return invalid(
                location(40245),
                "Unrecognized option to $bucketAuto: " + std::string(option.name()) + ".");
        }
    }
    if (groupBy.isMissing() || buckets.isMissing()) {
        return invalid(location(40246),
                       "$bucketAuto requires 'groupBy' and 'buckets' to be specified.");
    }
    if (!isExpressionLike(groupBy)) {
        return invalid(location(40239),
                       "The $bucketAuto 'groupBy' field must be defined as a $-prefixed path or "
                       "an expression object, but found: " +
                           bson::toShellText(groupBy) + ".");
    }
    int64_t count = 0;
    FRESHET_RETURN_IF_ERROR(checkBuckets(buckets, &count));
    FRESHET_ASSIGN_OR_RETURN(auto fields, readOutput(maker, output));
    FRESHET_ASSIGN_OR_RETURN(ExprPtr expression, maker.expression(groupBy));
    return StagePtr(std::make_unique<BucketAutoStage>(maker.run,
                                                      std::move(input),
                                                      std::move(expression),
                                                      static_cast<size_t>(count),
                                                      std::move(fields)));
}

}  // namespace freshet::query
