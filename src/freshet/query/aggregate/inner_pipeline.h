// SPDX-License-Identifier: Apache-2.0
/// A pipeline inside a stage, over another collection, run repeatedly with different values of its
/// variables. It is compiled again for each run, so that conditions on variables can use indexes.
#pragma once

#include "freshet/query/aggregate/stages.h"

namespace freshet::query {

class InnerPipeline {
public:
    /// Checks `stages` as far as possible without the values of `names`. Empty `stages`: the
    /// collection as it is.
    static StatusOr<InnerPipeline> make(const PipelineMaker& maker,
                                        catalog::CollectionRef collection,
                                        bson::Document stages,
                                        const std::vector<std::string>& names);

    /// Starts a run over the documents that fulfil `filter`.
    StageOr start(bson::OwnedDocument filter, bson::Document variables) const;
    /// Starts a run over the given documents.
    StageOr startOver(std::vector<bson::OwnedDocument> documents, bson::Document variables) const;
    /// The outer variables, overridden by `values` (in the order of the names).
    bson::OwnedDocument bind(const std::vector<std::string>& names,
                             const std::vector<Value>& values) const;

    const catalog::CollectionRef& collection() const { return collection_; }
    bool hasStages() const { return !stages_.view().isEmpty(); }

private:
    InnerPipeline(PipelineRun& run, int depth) : run_(&run), depth_(depth) {}

    PipelineRun* run_;
    int depth_;
    catalog::CollectionRef collection_;
    bson::OwnedDocument stages_;
    bson::OwnedDocument variables_;
};

/// {field: {$eq: value}}, or $in for several values. Regular expressions count as values, not as
/// patterns; a missing value counts as null.
bson::OwnedDocument valueFilter(const std::string& field, const std::vector<Value>& values);
/// The collection that a stage's `from` or `coll` names; null if there is none of that name.
StatusOr<catalog::CollectionRef> collectionOf(const PipelineMaker& maker,
                                              const bson::Element& from);

}  // namespace freshet::query
