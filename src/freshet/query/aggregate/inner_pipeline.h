// SPDX-License-Identifier: Apache-2.0
/// A pipeline inside a stage, over another collection, that is run again and again with other
/// values of its variables. It is compiled anew for each run, so that conditions on variables are
/// answered by indexes.
#pragma once

#include "freshet/query/aggregate/stages.h"

namespace freshet::query {

class InnerPipeline {
public:
    /// `stages` are checked as far as they can be without the values of `names`. Empty `stages`:
    /// the collection as it is.
    static StatusOr<InnerPipeline> make(const PipelineMaker& maker,
                                        catalog::CollectionRef collection,
                                        bson::Document stages,
                                        const std::vector<std::string>& names);

    /// A new run over the documents that fulfil `filter`.
    StageOr start(bson::OwnedDocument filter, bson::Document variables) const;
    /// The same over documents at hand.
    StageOr startOver(std::vector<bson::OwnedDocument> documents, bson::Document variables) const;
    /// The outer variables with `values` (in the order of the names) put over them.
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

/// {field: {$eq: value}}, or $in for several; regular expressions are values here, not patterns,
/// and what is missing is null.
bson::OwnedDocument valueFilter(const std::string& field, const std::vector<Value>& values);
/// The collection that a stage's `from` or `coll` names; null when there is none of that name.
StatusOr<catalog::CollectionRef> collectionOf(const PipelineMaker& maker,
                                              const bson::Element& from);

}  // namespace freshet::query
