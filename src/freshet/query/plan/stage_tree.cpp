// SPDX-License-Identifier: Apache-2.0
#include "freshet/query/plan/stage_tree.h"

#include "freshet/bson/count.h"

#include <algorithm>

namespace freshet::query {
namespace {

using catalog::Index;

void addCounts(const StageNode& node, bson::Builder* out) {
    const auto add = [out](std::string_view name, uint64_t n) {
        bson::addCount(out, name, static_cast<int64_t>(n));
    };
    const uint64_t works = std::max({node.nReturned, node.keysExamined, node.docsExamined}) + 1;
    add("nReturned", node.nReturned);
    add("executionTimeMillisEstimate", 0);
    add("works", works);
    add("advanced", node.nReturned);
    add("needTime", works - 1 - node.nReturned);
    add("needYield", 0);
    add("saveState", 0);
    add("restoreState", 0);
    add("isEOF", 1);
    if (node.name == "IXSCAN" || node.name == "COUNT_SCAN") {
        add("keysExamined", node.keysExamined);
    }
    if (node.name == "FETCH" || node.name == "COLLSCAN") {
        add("docsExamined", node.docsExamined);
    }
}

/// Of one explained tree; a plan may be larger than a reply may be.
constexpr size_t kExplainBytesMax = 4u << 20;

/// Recursion is as deep as a plan: a few levels.
void addNode(const StageNode& node, bool withCounts, bson::Builder* out) {
    if (out->endsAt() > kExplainBytesMax) {
        out->add("warning", "stats tree exceeded BSON size limit for explain");
        return;
    }
    out->add("stage", node.name);
    if (withCounts) {
        addCounts(node, out);
    }
    out->addFields(node.details.view());
    if (node.inputs.size() == 1) {
        auto input = out->object("inputStage");
        addNode(node.inputs[0], withCounts, &input);
    } else if (!node.inputs.empty()) {
        auto inputs = out->array("inputStages");
        for (const StageNode& each : node.inputs) {
            auto input = inputs.object(inputs.nextIndex());
            addNode(each, withCounts, &input);
        }
    }
}

struct Totals {
    uint64_t keys = 0;
    uint64_t documents = 0;
};

void sum(const StageNode& node, Totals* totals) {
    totals->keys += node.keysExamined;
    totals->documents += node.docsExamined;
    for (const StageNode& input : node.inputs) {
        sum(input, totals);
    }
}

/// The intervals of each field as an array of texts; all values for fields without bounds.
void addBounds(const IndexScan& scan, bson::Builder* out) {
    bson::Builder bounds;
    const std::vector<Interval> all = allValues().intervals;
    for (size_t i = 0; i < scan.index->fields.size(); ++i) {
        const auto& field = scan.index->fields[i];
        const bool turned = field.descending != scan.backward;
        auto list = bounds.array(field.path);
        const std::vector<Interval>& intervals =
            i < scan.bounds.size() ? scan.bounds[i]->intervals : all;
        for (size_t at = 0; at < intervals.size() && bounds.size() <= kExplainBytesMax; ++at) {
            list.push(textOf(intervals[turned ? intervals.size() - 1 - at : at], turned));
        }
    }
    if (bounds.size() > kExplainBytesMax) {
        out->add("warning", "index bounds omitted due to BSON size limit for explain");
        return;
    }
    const bson::OwnedDocument made(bounds.finish());
    out->add("indexBounds", made.view());
}

bson::OwnedDocument scanDetails(const IndexScan& scan) {
    bson::Builder builder;
    const Index& index = *scan.index;
    builder.add("keyPattern", index.spec.view().find("key").document());
    builder.add("indexName", index.name);
    builder.add("isMultiKey", scan.wasMultikey);
    builder.add("isUnique", index.unique);
    builder.add("isSparse", index.sparse);
    builder.add("isPartial", index.filter != nullptr);
    builder.add("indexVersion", int32_t{2});
    builder.add("direction", scan.backward ? "backward" : "forward");
    addBounds(scan, &builder);
    return bson::OwnedDocument(builder.finish());
}

StageNode scanNode(const IndexScan& scan, const char* name) {
    StageNode node;
    node.name = name;
    node.details = scanDetails(scan);
    return node;
}

bson::OwnedDocument filterDetails(bson::Document filter) {
    bson::Builder builder;
    if (!filter.isEmpty()) {
        builder.add("filter", filter);
    }
    return bson::OwnedDocument(builder.finish());
}

/// The scans below FETCH or COUNT; their common counts are shown at the first one.
StageNode entryStages(const Plan& plan, bool fetches, const ScanCounts& counts) {
    const char* name = fetches ? "IXSCAN" : "COUNT_SCAN";
    if (plan.scans.size() == 1) {
        StageNode node = scanNode(plan.scans[0], name);
        node.keysExamined = counts.keysExamined;
        node.nReturned = counts.given;
        return node;
    }
    StageNode either;
    either.name = "OR";
    either.nReturned = counts.given;
    for (const IndexScan& scan : plan.scans) {
        either.inputs.push_back(scanNode(scan, name));
    }
    either.inputs[0].keysExamined = counts.keysExamined;
    either.inputs[0].nReturned = counts.given;
    return either;
}

}  // namespace

bson::OwnedDocument describeTree(const StageNode& root, bool withCounts) {
    bson::Builder builder;
    addNode(root, withCounts, &builder);
    return bson::OwnedDocument(builder.finish());
}

bson::OwnedDocument describeRun(const StageNode& root, uint64_t elapsedMillis) {
    Totals totals;
    sum(root, &totals);
    bson::Builder builder;
    builder.add("executionSuccess", true);
    bson::addCount(&builder, "nReturned", static_cast<int64_t>(root.nReturned));
    bson::addCount(&builder, "executionTimeMillis", static_cast<int64_t>(elapsedMillis));
    bson::addCount(&builder, "totalKeysExamined", static_cast<int64_t>(totals.keys));
    bson::addCount(&builder, "totalDocsExamined", static_cast<int64_t>(totals.documents));
    {
        auto stages = builder.object("executionStages");
        addNode(root, true, &stages);
    }
    return bson::OwnedDocument(builder.finish());
}

StageNode stagesOf(const Plan& plan,
                   bson::Document filter,
                   bool fetches,
                   const ScanCounts& counts,
                   uint64_t matched) {
    StageNode node;
    node.nReturned = matched;
    switch (plan.kind) {
        case PlanKind::kNothing:
            node.name = "EOF";
            return node;
        case PlanKind::kId:
            node.name = "IDHACK";
            node.keysExamined = counts.keysExamined;
            node.docsExamined = counts.docsExamined;
            return node;
        case PlanKind::kCollection: {
            node.name = "COLLSCAN";
            bson::Builder builder;
            builder.addFields(filterDetails(filter).view());
            builder.add("direction", plan.backward ? "backward" : "forward");
            node.details = bson::OwnedDocument(builder.finish());
            node.docsExamined = counts.docsExamined;
            return node;
        }
        case PlanKind::kIndex:
        case PlanKind::kUnion:
            break;
    }
    StageNode entries = entryStages(plan, fetches, counts);
    if (!fetches) {
        return entries;
    }
    node.name = "FETCH";
    node.details = filterDetails(filter);
    node.docsExamined = counts.docsExamined;
    node.inputs.push_back(std::move(entries));
    return node;
}

StageNode stageAbove(std::string name,
                     bson::OwnedDocument details,
                     uint64_t nReturned,
                     StageNode input) {
    StageNode node;
    node.name = std::move(name);
    node.details = std::move(details);
    node.nReturned = nReturned;
    node.inputs.push_back(std::move(input));
    return node;
}

}  // namespace freshet::query
