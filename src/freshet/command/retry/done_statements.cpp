// SPDX-License-Identifier: Apache-2.0
#include "freshet/command/retry/done_statements.h"

#include <algorithm>
#include <utility>

namespace freshet::command {
namespace {

constexpr std::string_view kCommitted = "committed";

/// The first range that begins after the statement.
StatementRanges::const_iterator firstBehind(const StatementRanges& ranges, int32_t statement) {
    return std::upper_bound(
        ranges.begin(), ranges.end(), statement, [](int32_t wanted, const auto& range) {
            return wanted < range.first;
        });
}

void addTo(StatementRanges* ranges, int32_t statement) {
    const auto at = ranges->begin() + (firstBehind(*ranges, statement) - ranges->begin());
    const bool joinsBefore = at != ranges->begin() && std::prev(at)->second + 1 == statement;
    const bool joinsBehind = at != ranges->end() && at->first - 1 == statement;
    if (joinsBefore && joinsBehind) {
        std::prev(at)->second = at->second;
        ranges->erase(at);
    } else if (joinsBefore) {
        std::prev(at)->second = statement;
    } else if (joinsBehind) {
        at->first = statement;
    } else {
        ranges->emplace(at, statement, statement);
    }
}

StatementRanges rangesOf(bson::Document stored) {
    StatementRanges ranges;
    const bson::Element done = stored.find("done");
    if (!done.isArray()) {
        return ranges;
    }
    std::optional<int32_t> first;
    for (const bson::Element& end : done.document()) {
        const auto number = static_cast<int32_t>(end.toInt64());
        if (first.has_value()) {
            ranges.emplace_back(*first, number);
            first.reset();
        } else {
            first = number;
        }
    }
    return ranges;
}

}  // namespace

bool isOrdinary(const query::WriteResult& result) {
    return result.matched == 1 && !result.upserted && !result.value.has_value();
}

void addResult(int32_t statement, const query::WriteResult& result, bson::Builder* out) {
    out->add("stmtId", statement);
    if (isOrdinary(result)) {
        return;
    }
    out->add("n", result.matched).add("nModified", result.modified);
    if (result.upserted) {
        out->addAs("upserted", result.upsertedId.view().find("_id"));
    }
    if (result.value.has_value()) {
        out->add("value", result.value->view());
    }
}

query::WriteResult resultOf(bson::Document stored) {
    query::WriteResult result;
    if (!stored.has("n")) {
        result.matched = result.modified = 1;
        return result;
    }
    result.matched = stored.find("n").toInt64();
    result.modified = stored.find("nModified").toInt64();
    if (const bson::Element id = stored.find("upserted")) {
        result.upserted = true;
        bson::Builder upserted;
        upserted.addAs("_id", id);
        result.upsertedId = bson::OwnedDocument(upserted.finish());
    }
    if (const bson::Element value = stored.find("value"); value.isObject()) {
        result.value = bson::OwnedDocument(value.document());
    }
    return result;
}

void EarlierStatements::read(bson::Document stored) {
    const StatementRanges more = rangesOf(stored);
    done.insert(done.end(), more.begin(), more.end());
    std::sort(done.begin(), done.end());
    const bson::Element list = stored.find("results");
    if (!list.isArray()) {
        return;
    }
    for (const bson::Element& result : list.document()) {
        if (result.isObject() && result.document().find("stmtId").isInteger()) {
            const int64_t statement = result.document().find("stmtId").toInt64();
            results.insert_or_assign(static_cast<int32_t>(statement), resultOf(result.document()));
        }
    }
}

std::optional<query::WriteResult> EarlierStatements::find(int32_t statement) const {
    const auto behind = firstBehind(done, statement);
    if (behind == done.begin() || std::prev(behind)->second < statement) {
        return std::nullopt;
    }
    if (const auto known = results.find(statement); known != results.end()) {
        return known->second;
    }
    return resultOf(bson::Document());
}

void DoneStatements::startNumber(int64_t txnNumber) {
    txnNumber_ = txnNumber;
    isTransaction_ = false;
    parts_ = 0;
    recorded_ = {};
    nextParts_.clear();
}

void DoneStatements::startTransaction(int64_t txnNumber) {
    startNumber(txnNumber);
    isTransaction_ = true;
}

void DoneStatements::read(bson::Document stored) {
    if (!stored.find("txnNum").isInteger()) {
        return;
    }
    startNumber(stored.find("txnNum").toInt64());
    const bson::Element state = stored.find("state");
    isTransaction_ = state.isString() && state.stringValue() == kCommitted;
    parts_ = static_cast<int32_t>(stored.find("parts").toInt64());
    recorded_.done = rangesOf(stored);
    if (const bson::Element results = stored.find("results"); results.isArray()) {
        for (const bson::Element& result : results.document()) {
            recorded_.results += result.isObject() ? result.document().bytes() : ByteView();
        }
    }
}

void DoneStatements::add(int32_t statement, const query::WriteResult& result) {
    if (recorded_.results.size() > kResultBytesMax || recorded_.done.size() >= kRangesMax) {
        nextParts_.push_back(std::exchange(recorded_, {}));
    }
    addTo(&recorded_.done, statement);
    if (!isOrdinary(result)) {
        bson::Builder document;
        addResult(statement, result, &document);
        recorded_.results += document.finish();
    }
}

bson::OwnedDocument DoneStatements::partId(int32_t part) const {
    bson::Builder id;
    id.addFields(bson::Document(session_.data())).add("part", part);
    return bson::OwnedDocument(id.finish());
}

void DoneStatements::addFields(bson::Document id,
                               const Recorded& recorded,
                               int64_t wallMs,
                               bson::Builder* out) const {
    out->add("_id", id).add("txnNum", txnNumber_);
    out->add("lastWriteDate", bson::Date{wallMs - wallMs % kDateStepMs});
    {
        auto done = out->array("done");
        for (const auto& [first, last] : recorded.done) {
            done.push(first).push(last);
        }
    }
    auto list = out->array("results");
    for (size_t at = 0; at < recorded.results.size();) {
        const bson::Document result(recorded.results.data() + at);
        list.push(result);
        at += result.size();
    }
}

std::vector<bson::OwnedDocument> DoneStatements::write(int64_t wallMs) {
    std::vector<bson::OwnedDocument> documents;
    for (const Recorded& next : nextParts_) {
        bson::Builder part;
        addFields(partId(parts_++).view(), next, wallMs, &part);
        documents.emplace_back(part.finish());
    }
    nextParts_.clear();
    bson::Builder out;
    addFields(bson::Document(session_.data()), recorded_, wallMs, &out);
    out.add("parts", parts_);
    if (isTransaction_) {
        out.add("state", kCommitted);
    }
    documents.emplace_back(out.finish());
    return documents;
}

void DoneStatements::partsAreStored(int32_t parts) {
    const auto count =
        std::min(static_cast<size_t>(std::max(parts - parts_, 0)), nextParts_.size());
    nextParts_.erase(nextParts_.begin(), nextParts_.begin() + static_cast<ptrdiff_t>(count));
    parts_ += static_cast<int32_t>(count);
}

size_t DoneStatements::heldBytes() const {
    size_t bytes = session_.capacity() + recorded_.heldBytes();
    for (const Recorded& part : nextParts_) {
        bytes += sizeof(Recorded) + part.heldBytes();
    }
    return bytes;
}

}  // namespace freshet::command
