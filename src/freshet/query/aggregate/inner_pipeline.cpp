// SPDX-License-Identifier: Apache-2.0
#include "freshet/query/aggregate/inner_pipeline.h"

#include <absl/container/flat_hash_set.h>

#include <algorithm>

namespace freshet::query {

using bson::Document;
using bson::Element;
using bson::OwnedDocument;

OwnedDocument InnerPipeline::bind(const std::vector<std::string>& names,
                                  const std::vector<Value>& values) const {
    bson::Builder builder;
    const absl::flat_hash_set<std::string_view> bound(names.begin(), names.end());
    for (const Element& variable : variables_.view()) {
        if (!bound.contains(variable.name())) {
            builder.add(variable);
        }
    }
    for (size_t i = 0; i < names.size(); ++i) {
        if (i >= values.size() || values[i].isMissing()) {
            builder.add(names[i], bson::Undefined{});
        } else {
            builder.addAs(names[i], values[i].element());
        }
    }
    return OwnedDocument(builder.finish());
}

StatusOr<InnerPipeline> InnerPipeline::make(const PipelineMaker& maker,
                                            catalog::CollectionRef collection,
                                            Document stages,
                                            const std::vector<std::string>& names) {
    InnerPipeline result(maker.run, maker.depth);
    result.collection_ = std::move(collection);
    result.stages_ = OwnedDocument(stages);
    result.variables_ = OwnedDocument(maker.variables);
    const OwnedDocument unbound = result.bind(names, {});
    FRESHET_ASSIGN_OR_RETURN(const PipelineMaker inner, maker.inner(unbound.view()));
    FRESHET_RETURN_IF_ERROR(inner.makeOver(stages, CollectionRequest(), nullptr).status());
    return result;
}

StageOr InnerPipeline::start(OwnedDocument filter, Document variables) const {
    size_t stagesMade = 0;
    const PipelineMaker maker{*run_, depth_ + 1, &stagesMade, variables};
    CollectionRequest request;
    request.collection = collection_;
    request.filter = std::move(filter);
    return maker.makeOver(stages_.view(), std::move(request), nullptr);
}

StageOr InnerPipeline::startOver(std::vector<OwnedDocument> documents, Document variables) const {
    size_t stagesMade = 0;
    const PipelineMaker maker{*run_, depth_ + 1, &stagesMade, variables};
    return maker.makeBehind(stages_.view(), makeListStage(std::move(documents)));
}

OwnedDocument valueFilter(const std::string& field, const std::vector<Value>& values) {
    bson::Builder builder;
    const auto addEquality = [&field](const Value& value, bson::Builder* out) {
        bson::Builder condition = out->object(field);
        if (value.isNullish()) {
            condition.add("$eq", bson::Null{});
        } else {
            condition.addAs("$eq", value.element());
        }
    };
    const bool hasRegex = std::any_of(values.begin(), values.end(), [](const Value& value) {
        return value.type() == bson::Type::kRegex;
    });
    if (values.size() == 1) {
        addEquality(values[0], &builder);
    } else if (hasRegex) {
        bson::Builder branches = builder.array("$or");
        for (const Value& value : values) {
            bson::Builder branch = branches.object(branches.nextIndex());
            addEquality(value, &branch);
        }
    } else {
        bson::Builder condition = builder.object(field);
        bson::Builder members = condition.array("$in");
        for (const Value& value : values) {
            if (value.isNullish()) {
                members.push(bson::Null{});
            } else {
                members.pushElement(value.element());
            }
        }
    }
    return OwnedDocument(builder.finish());
}

StatusOr<catalog::CollectionRef> collectionOf(const PipelineMaker& maker, const Element& from) {
    if (from.isString()) {
        FRESHET_RETURN_IF_ERROR(catalog::checkNames(maker.run.db(), from.stringValue()));
        return maker.run.find(maker.run.db(), from.stringValue());
    }
    const Element db = from.isObject() ? from.document().find("db") : Element();
    const Element collection = from.isObject() ? from.document().find("coll") : Element();
    if (!collection.isString() || (!db.isMissing() && !db.isString())) {
        return invalid(
            Reason::kFailedToParse,
            std::string(from.name()) + " must be a string or an object with 'db' and 'coll'");
    }
    const std::string_view name = db.isMissing() ? maker.run.db() : db.stringValue();
    FRESHET_RETURN_IF_ERROR(catalog::checkNames(name, collection.stringValue()));
    return maker.run.find(name, collection.stringValue());
}

}  // namespace freshet::query
