// SPDX-License-Identifier: Apache-2.0
/// RowStream: plan, scan, filter, sort.
#include "freshet/query/exec/row_stream.h"

#include "absl/container/flat_hash_set.h"

#include <algorithm>

namespace freshet::query {

namespace {

constexpr size_t kIdBytes = sizeof(uint64_t);

bool isNatural(bson::Document sort) {
    return !sort.isEmpty() && sort.begin()->name() == "$natural";
}

}  // namespace

StatusOr<std::unique_ptr<RowStream>> RowStream::make(StreamRequest request) {
    std::unique_ptr<RowStream> stream(new RowStream(std::move(request)));
    StreamRequest& streamRequest = stream->request_;
    if (isNatural(streamRequest.sort.view())) {
        streamRequest.hint = std::exchange(streamRequest.sort, bson::OwnedDocument());
    }
    if (!streamRequest.sort.view().isEmpty()) {
        FRESHET_ASSIGN_OR_RETURN(stream->pattern_, SortPattern::compile(streamRequest.sort.view()));
    }
    FRESHET_RETURN_IF_ERROR(stream->makePlan());
    return stream;
}

Status RowStream::makePlan() {
    PlanRequest planRequest;
    planRequest.collection = request_.collection.get();
    planRequest.matcher = request_.matcher.get();
    planRequest.sort = pattern_.has_value() ? &*pattern_ : nullptr;
    planRequest.hint = request_.hint.view();
    planRequest.min = request_.min.view();
    planRequest.max = request_.max.view();
    FRESHET_ASSIGN_OR_RETURN(plan_, choosePlan(planRequest));
    scan_ = makeScan(plan_, request_.collection, fetches());
    sorter_.reset();
    if (pattern_.has_value() && !plan_.givesOrder) {
        sorter_.emplace(request_.keep, request_.memory, request_.memory.limits.sort, &spilled_);
    }
    return Status::ok();
}

bool RowStream::isKilled() const {
    bool dropped = request_.collection->isDropped();
    for (const IndexScan& scan : plan_.scans) {
        dropped |= scan.index->isDropped();
    }
    return dropped;
}

void RowStream::attach(engine::Txn& txn) {
    txn_ = &txn;
    // Planned before the snapshot was taken: an index may have met its first array since then.
    if (!started_ && plan_.isOutdated()) {
        Status status = makePlan();
        killed_ |= !status.isOk();  // the hint was good before, so its index was dropped
    }
    started_ = true;
    killed_ |= isKilled();
    scan_->attach(txn);
}

void RowStream::detach() {
    scan_->detach();
    txn_ = nullptr;
}

Status RowStream::nextFromScan(Row* row) {
    while (!turn_.isOver()) {
        *row = {};
        Status status = scan_->advance(row);
        if (status.isWouldBlock()) {
            token_ = txn_->token();
        }
        FRESHET_RETURN_IF_ERROR(status);
        if (row->id == 0 && scan_->isAtEnd()) {
            return Status::ok();
        }
        if (row->id != 0) {
            bool matched = !fetches();  // without documents every entry is a match
            if (!matched) {
                FRESHET_RETURN_IF_ERROR(request_.matcher->test(row->document, &matched));
            }
            if (matched) {
                ++matched_;
                return Status::ok();
            }
        }
    }
    token_ = sync::WaitToken::completed();
    return Status::wouldBlock();
}

Status RowStream::sortAll() {
    FRESHET_RETURN_IF_ERROR(asStream(sorter_->settle()));
    while (!scanned_) {
        Row row;
        FRESHET_RETURN_IF_ERROR(nextFromScan(&row));
        if (row.id == 0) {
            scanned_ = true;
            break;
        }
        std::string payload;
        payload.reserve(kIdBytes + row.document.size());
        appendBe64(payload, row.id);
        payload += row.document.bytes();
        FRESHET_RETURN_IF_ERROR(asStream(sorter_->add(pattern_->keyOf(row.document), payload)));
    }
    FRESHET_RETURN_IF_ERROR(asStream(sorter_->finish()));
    sorted_ = true;
    return Status::ok();
}

Status RowStream::nextSorted(Row* row) {
    SpillRecord record;
    bool isEnd = false;
    FRESHET_RETURN_IF_ERROR(asStream(sorter_->next(&record, &isEnd)));
    if (!isEnd) {
        row->id = loadBe64(record.payload.data());
        row->document = bson::Document(record.payload.data() + kIdBytes);
    }
    return Status::ok();
}

Status RowStream::asStream(Status status) {
    if (status.isWouldBlock()) {
        token_ = sorter_->token();
    }
    return status;
}

Status RowStream::next(Row* row) {
    *row = {};
    if (killed_) {
        return planKilled(*request_.collection);
    }
    if (!sorter_.has_value()) {
        FRESHET_RETURN_IF_ERROR(nextFromScan(row));
    } else {
        if (!sorted_) {
            FRESHET_RETURN_IF_ERROR(sortAll());
        }
        FRESHET_RETURN_IF_ERROR(nextSorted(row));
    }
    given_ += row->id != 0 ? 1 : 0;
    return Status::ok();
}

Status RowStream::passOver(uint64_t most, uint64_t* passed) {
    *passed = 0;
    const bool isExact = plan_.kind == PlanKind::kCollection ? matchesAll() : plan_.isExact;
    if (killed_ || sorter_.has_value() || !isExact) {
        return Status::ok();
    }
    Status status = scan_->passOver(most, passed);
    if (status.isWouldBlock()) {
        token_ = txn_->token();
    }
    matched_ += *passed;
    given_ += *passed;
    return status;
}

PlanName RowStream::planName() const {
    PlanName name;
    switch (plan_.kind) {
        case PlanKind::kNothing:
            name.kind = "EOF";
            break;
        case PlanKind::kCollection:
            name.kind =
                request_.needsDocuments || !matchesAll() ? "COLLSCAN" : "RECORD_STORE_FAST_COUNT";
            break;
        case PlanKind::kId:
            name.kind = "IDHACK";
            name.usedTree = request_.collection->indexes[0]->treeId;
            break;
        case PlanKind::kIndex:
            name.kind = fetches() ? "IXSCAN" : "COUNT_SCAN";
            name.index = plan_.scans[0].index;
            name.usedTree = name.index->treeId;
            break;
        case PlanKind::kUnion:
            name.kind = fetches() ? "IXSCAN" : "COUNT_SCAN";
            name.branches = branchNames(name.kind);
            break;
    }
    return name;
}

/// Each index once, however many branches use it.
std::string RowStream::branchNames(std::string_view kind) const {
    std::string names;
    absl::flat_hash_set<const catalog::Index*> named;
    for (const IndexScan& scan : plan_.scans) {
        if (named.insert(scan.index.get()).second) {
            const PlanName branch{kind, scan.index, {}, 0};
            names += (names.empty() ? "" : ", ") + branch.text();
        }
    }
    return names;
}

WorkDone RowStream::work() const {
    WorkDone work;
    work.keysExamined = static_cast<int64_t>(scan_->counts().keysExamined);
    work.docsExamined = static_cast<int64_t>(scan_->counts().docsExamined);
    work.sortsInMemory = sorter_.has_value();
    work.addSpilled(spilled_);
    work.plan = planName();
    return work;
}

StageNode RowStream::stages() const {
    StageNode input =
        stagesOf(plan_, request_.matcher->filter(), fetches(), scan_->counts(), matched_);
    if (!sorter_.has_value()) {
        return input;
    }
    bson::Builder builder;
    builder.add("sortPattern", request_.sort.view());
    builder.add("memLimit", static_cast<int64_t>(request_.memory.limits.sort));
    if (request_.keep != 0) {
        builder.add("limitAmount", static_cast<int64_t>(request_.keep));
    }
    builder.add("type", "simple");
    if (sorted_) {
        builder.add("totalDataSizeSorted", static_cast<int64_t>(sorter_->bytesSorted()));
        builder.add("usedDisk", spilled_.spills > 0).add("spills", spilled_.spills);
        builder.add("spilledDataStorageSize", spilled_.bytes);
    }
    return stageAbove("SORT", bson::OwnedDocument(builder.finish()), given_, std::move(input));
}

}  // namespace freshet::query
