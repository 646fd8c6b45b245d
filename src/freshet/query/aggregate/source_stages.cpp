// SPDX-License-Identifier: Apache-2.0
/// Stages that documents come from without a collection being read.
#include "freshet/bson/json.h"
#include "freshet/query/aggregate/stages.h"

namespace freshet::query {
namespace {

using bson::Document;
using bson::Element;
using bson::OwnedDocument;

/// One document for each index: {name, key, spec, accesses}.
std::vector<OwnedDocument> describeIndexes(const PipelineMaker& maker,
                                           const catalog::Collection& collection) {
    std::vector<OwnedDocument> documents;
    for (const auto& index : collection.indexes) {
        bson::Builder builder;
        builder.add("name", index->name);
        builder.add("key", index->spec.view().find("key").document());
        {
            bson::Builder accesses = builder.object("accesses");
            accesses.add("ops", int64_t{0});
            accesses.add("since", bson::Date{maker.run.nowMillis()});
        }
        builder.add("spec", index->spec.view());
        documents.emplace_back(builder.finish());
    }
    return documents;
}

}  // namespace

StageOr makeSource(const PipelineMaker& maker,
                   const Element& spec,
                   const catalog::CollectionRef& collection) {
    const std::string name(spec.name());
    if (name == "$documents") {
        FRESHET_ASSIGN_OR_RETURN(auto documents, evaluateDocuments(maker, spec));
        return makeListStage(std::move(documents));
    }
    if (name == "$indexStats") {
        if (!spec.isObject() || !spec.document().isEmpty()) {
            return invalid(location(28803),
                           "The $indexStats stage specification must be an empty object");
        }
        return makeListStage(collection == nullptr ? std::vector<OwnedDocument>()
                                                   : describeIndexes(maker, *collection));
    }
    if (name == "$listLocalSessions" || name == "$listSessions" || name == "$planCacheStats") {
        return makeListStage({});
    }
    if (name == "$changeStream") {
        return invalid(location(40573),
                       "The $changeStream stage is only supported on replica sets");
    }
    return Status(Code::kUnsupported, name + " is not supported by this server");
}

}  // namespace freshet::query
