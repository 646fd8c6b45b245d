// SPDX-License-Identifier: Apache-2.0
/// $lookup: adds to each document an array of the matching documents of another collection. Results
/// are kept by value, and a collection without a suitable index is held in memory.
#include "freshet/bson/json.h"
#include "freshet/query/aggregate/foreign_table.h"
#include "freshet/query/aggregate/inner_pipeline.h"
#include "freshet/query/aggregate/nested_field.h"

#include <algorithm>

namespace freshet::query {
namespace {

using bson::Document;
using bson::Element;
using bson::OwnedDocument;

constexpr size_t kCacheBytesMax = 32u << 20;

struct LookupSpec {
    std::vector<std::string> localField;  // empty: no equality wanted
    std::string foreignField;
    std::vector<std::string> as;
    std::vector<std::string> names;  // of `let`
    std::vector<ExprPtr> values;
    std::string fromText;
};

/// Arrays found so far, by the values that were looked up.
class LookupCache {
public:
    const std::string* find(const std::string& key) const {
        const auto at = arrays_.find(key);
        return at == arrays_.end() ? nullptr : &at->second;
    }
    void add(const std::string& key, const std::string& array) {
        const size_t bytes = key.size() + array.size() + 64;
        if (bytes > kCacheBytesMax) {
            return;
        }
        if (bytes_ + bytes > kCacheBytesMax) {
            arrays_.clear();
            bytes_ = 0;
        }
        bytes_ += bytes;
        arrays_.emplace(key, array);
    }

    size_t bytes() const { return bytes_; }

private:
    absl::flat_hash_map<std::string, std::string> arrays_;
    size_t bytes_ = 0;
};

class LookupStage final : public ChainedStage {
public:
    LookupStage(PipelineRun& run, StagePtr input, LookupSpec spec, InnerPipeline inner)
        : ChainedStage(run, std::move(input)), spec_(std::move(spec)), inner_(std::move(inner)) {}

    Status next(Output* out) override {
        if (!tableIsDecided_) {
            FRESHET_RETURN_IF_ERROR(decideTable());
        }
        if (!hasLocal_) {
            Output in;
            FRESHET_RETURN_IF_ERROR(input().next(&in));
            if (in.isEnd) {
                return out->end();
            }
            local_.assign(in.document.bytes());
            FRESHET_RETURN_IF_ERROR(startProbe());
            hasLocal_ = true;
        }
        FRESHET_RETURN_IF_ERROR(collect());
        hasLocal_ = false;
        const Value found = Value::ofArray(array_);
        if (!context_.allowsNesting(found.element(), static_cast<int>(spec_.as.size()))) {
            return context_.error;
        }
        bson::Builder builder;
        writeReplaced(Document(local_), spec_.as, found.element(), &builder);
        bytes_ = builder.finish();
        if (bytes_.size() > bson::kInternalDocumentBytesMax) {
            return tooLarge();
        }
        return out->give(Document(bytes_));
    }

private:
    Status tooLarge() const {
        return invalid(location(4568),
                       "Total size of documents in " + spec_.fromText +
                           " matching pipeline's $lookup stage exceeds 16793600 bytes");
    }

    bool hasIndex() const {
        const auto& indexes = inner_.collection()->indexes;
        return std::any_of(indexes.begin(), indexes.end(), [this](const auto& index) {
            return !index->fields.empty() && index->fields[0].path == spec_.foreignField;
        });
    }

    /// Reads the foreign collection into memory if that avoids a scan for every document.
    Status decideTable() {
        const bool isWanted =
            !spec_.localField.empty() && inner_.collection() != nullptr && !hasIndex();
        if (isWanted && filling_ == nullptr) {
            table_.emplace(spec_.foreignField);
            CollectionRequest all;
            all.collection = inner_.collection();
            FRESHET_ASSIGN_OR_RETURN(filling_,
                                     makeCollectionStage(run_, std::move(all), Document()));
        }
        while (filling_ != nullptr) {
            Output foreign;
            FRESHET_RETURN_IF_ERROR(filling_->next(&foreign));
            const bool isOver = foreign.isEnd || !table_->add(foreign.document);
            if (isOver) {
                if (!foreign.isEnd) {
                    table_.reset();
                }
                filling_.reset();
            }
        }
        tableIsDecided_ = true;
        return Status::ok();
    }

    /// The foreign field must have one of these values.
    std::vector<Value> localValues() const {
        const Value found =
            followPath(Value(Document(local_).find(spec_.localField[0])), spec_.localField, 1);
        if (!found.element().isArray()) {
            return {found};
        }
        std::vector<Value> values;
        for (const Element& member : found.element().document()) {
            values.push_back(found.part(member));
        }
        return values;
    }

    Status startProbe() {
        array_.clear();
        context_.root = Document(local_);
        std::vector<Value> let;
        for (const ExprPtr& expression : spec_.values) {
            let.push_back(expression->evaluate(context_));
            context_.allowsNesting(let.back().element(), 0);
        }
        if (context_.failed()) {
            return context_.error;
        }
        const OwnedDocument variables = inner_.bind(spec_.names, let);
        OwnedDocument filter;
        std::vector<Value> values;
        if (!spec_.localField.empty()) {
            values = localValues();
            filter = valueFilter(spec_.foreignField, values);
        }
        key_ = filter.bytes();
        if (!spec_.names.empty()) {
            key_ += variables.bytes();
        }
        if (const std::string* known = cache_.find(key_); known != nullptr) {
            array_ = *known;
            return Status::ok();
        }
        found_ = std::make_unique<bson::Builder>();
        return startInner(std::move(filter), values, variables.view());
    }

    Status startInner(OwnedDocument filter, const std::vector<Value>& values, Document variables) {
        if (!table_.has_value()) {
            FRESHET_ASSIGN_OR_RETURN(running_, inner_.start(std::move(filter), variables));
            return Status::ok();
        }
        FRESHET_ASSIGN_OR_RETURN(auto matcher, Matcher::compile(filter.view()));
        std::vector<OwnedDocument> matched;
        for (const Document candidate : table_->candidates(values)) {
            bool isMatch = false;
            FRESHET_RETURN_IF_ERROR(matcher->test(candidate, &isMatch));
            if (!isMatch) {
                continue;
            }
            if (inner_.hasStages()) {
                matched.emplace_back(candidate);
            } else {
                FRESHET_RETURN_IF_ERROR(addFound(candidate));
            }
        }
        if (!inner_.hasStages()) {
            return Status::ok();
        }
        FRESHET_ASSIGN_OR_RETURN(running_, inner_.startOver(std::move(matched), variables));
        return Status::ok();
    }

    Status addFound(Document document) {
        found_->push(document);
        return found_->size() > bson::kInternalDocumentBytesMax ? tooLarge() : Status::ok();
    }

    uint64_t ownBytes() const override {
        return cache_.bytes() + local_.capacity() + array_.capacity() + bytes_.capacity();
    }

    /// Runs what startProbe() started to its end.
    Status collect() {
        while (running_ != nullptr) {
            Output found;
            FRESHET_RETURN_IF_ERROR(running_->next(&found));
            if (found.isEnd) {
                running_.reset();
            } else {
                FRESHET_RETURN_IF_ERROR(addFound(found.document));
            }
        }
        if (found_ != nullptr) {
            array_ = found_->finish();
            found_.reset();
            cache_.add(key_, array_);
        }
        return checkTurn();
    }

    LookupSpec spec_;
    InnerPipeline inner_;
    LookupCache cache_;
    bool tableIsDecided_ = false;
    std::optional<ForeignTable> table_;
    StagePtr filling_;  // the foreign collection while it is read into the table
    bool hasLocal_ = false;
    std::string local_;
    std::string key_;
    std::unique_ptr<bson::Builder> found_;  // null: array_ is complete
    std::string array_;
    StagePtr running_;
    std::string bytes_;
};

Status parseError(std::string text) {
    return invalid(Reason::kFailedToParse, std::move(text));
}

/// The options as written in the pipeline.
struct LookupText {
    Element from;
    Element as;
    Element localField;
    Element foreignField;
    Element let;
    Element pipeline;
};

StatusOr<LookupText> readOptions(const Element& spec) {
    if (!spec.isObject()) {
        return parseError("the $lookup stage specification must be an object, but found " +
                          std::string(bson::typeName(spec.type())));
    }
    LookupText text;
    const std::pair<std::string_view, Element LookupText::*> known[] = {
        {"from", &LookupText::from},
        {"as", &LookupText::as},
        {"localField", &LookupText::localField},
        {"foreignField", &LookupText::foreignField},
        {"let", &LookupText::let},
        {"pipeline", &LookupText::pipeline},
    };
    for (const Element& option : spec.document()) {
        const auto at = std::find_if(std::begin(known), std::end(known), [&](const auto& one) {
            return one.first == option.name();
        });
        if (at == std::end(known)) {
            return parseError("unknown argument to $lookup: " + std::string(option.name()));
        }
        const bool isString = at->first == "as" || at->first.ends_with("Field");
        if (isString && !option.isString()) {
            return parseError("$lookup argument '" + bson::toShellText(option) +
                              "' must be a string, found " + std::string(option.name()) + ": " +
                              std::string(bson::typeName(option.type())));
        }
        text.*(at->second) = option;
    }
    if (text.as.isMissing()) {
        return parseError("must specify 'as' field for a $lookup");
    }
    if (text.localField.isMissing() != text.foreignField.isMissing()) {
        return parseError(
            "$lookup requires both or neither of 'localField' and 'foreignField' to be specified");
    }
    if (text.pipeline.isMissing() && text.localField.isMissing()) {
        return parseError(
            "$lookup requires either 'pipeline' or both 'localField' and 'foreignField' to be "
            "specified");
    }
    if (!text.let.isMissing() && (text.pipeline.isMissing() || !text.let.isObject())) {
        return parseError(text.let.isObject()
                              ? "$lookup with a 'let' argument must also specify 'pipeline'"
                              : "$lookup argument 'let: " + bson::toShellText(text.let) +
                                    "' must be an object");
    }
    if (!text.pipeline.isMissing() && !text.pipeline.isArray()) {
        return invalid(Reason::kTypeMismatch, "'pipeline' option must be specified as an array");
    }
    const Document stages = text.pipeline.isArray() ? text.pipeline.document() : Document();
    const bool startsWithDocuments = !stages.isEmpty() && stages.begin()->isObject() &&
                                     stages.begin()->document().has("$documents");
    if (text.from.isMissing() && !startsWithDocuments) {
        return parseError("missing 'from' option to $lookup stage specification: " +
                          bson::toShellText(spec.document()));
    }
    return text;
}

}  // namespace

StageOr makeLookup(const PipelineMaker& maker, const Element& spec, StagePtr input) {
    FRESHET_ASSIGN_OR_RETURN(const LookupText text, readOptions(spec));
    LookupSpec parsed;
    FRESHET_RETURN_IF_ERROR(checkFieldPath(text.as.stringValue()));
    parsed.as = splitPath(text.as.stringValue());
    if (!text.localField.isMissing()) {
        FRESHET_RETURN_IF_ERROR(checkFieldPath(text.localField.stringValue()));
        FRESHET_RETURN_IF_ERROR(checkFieldPath(text.foreignField.stringValue()));
        parsed.localField = splitPath(text.localField.stringValue());
        parsed.foreignField = std::string(text.foreignField.stringValue());
    }
    if (text.let.isObject()) {
        ExprScope scope(maker.variables);
        for (const Element& variable : text.let.document()) {
            FRESHET_RETURN_IF_ERROR(checkVariableName(variable.name()));
            FRESHET_ASSIGN_OR_RETURN(ExprPtr value, parseExpression(variable, &scope));
            parsed.names.emplace_back(variable.name());
            parsed.values.push_back(std::move(value));
        }
    }
    catalog::CollectionRef collection;
    if (!text.from.isMissing()) {
        FRESHET_ASSIGN_OR_RETURN(collection, collectionOf(maker, text.from));
        parsed.fromText = text.from.isString() ? std::string(text.from.stringValue()) : "from";
    }
    const Document stages = text.pipeline.isArray() ? text.pipeline.document() : Document();
    FRESHET_ASSIGN_OR_RETURN(InnerPipeline inner,
                             InnerPipeline::make(maker, collection, stages, parsed.names));
    return StagePtr(std::make_unique<LookupStage>(
        maker.run, std::move(input), std::move(parsed), std::move(inner)));
}

}  // namespace freshet::query
