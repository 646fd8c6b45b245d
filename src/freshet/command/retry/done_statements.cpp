// SPDX-License-Identifier: Apache-2.0
#include "freshet/command/retry/done_statements.h"

#include <algorithm>
#include <utility>

namespace freshet::command {
namespace {

/// One document found and, for an update, changed.
bool isOrdinary(const query::WriteResult& result) {
    return result.matched == 1 && !result.upserted && !result.value.has_value();
}

bson::OwnedDocument resultDocument(int32_t statement, const query::WriteResult& result) {
    bson::Builder out;
    out.add("stmtId", statement).add("n", result.matched).add("nModified", result.modified);
    if (result.upserted) {
        out.addAs("upserted", result.upsertedId.view().find("_id"));
    }
    if (result.value.has_value()) {
        out.add("value", result.value->view());
    }
    return bson::OwnedDocument(out.finish());
}

query::WriteResult resultOf(bson::Document stored) {
    query::WriteResult result;
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

using Ranges = std::vector<std::pair<int32_t, int32_t>>;

/// The first that begins behind the statement.
Ranges::const_iterator firstBehind(const Ranges& ranges, int32_t statement) {
    return std::upper_bound(
        ranges.begin(), ranges.end(), statement, [](int32_t wanted, const auto& range) {
            return wanted < range.first;
        });
}

}  // namespace

void readResults(bson::Document stored, StatementResults* out) {
    const bson::Element results = stored.find("results");
    if (!results.isArray()) {
        return;
    }
    for (const bson::Element& result : results.document()) {
        if (result.isObject() && result.document().find("stmtId").isInteger()) {
            const int64_t statement = result.document().find("stmtId").toInt64();
            out->insert_or_assign(static_cast<int32_t>(statement), resultOf(result.document()));
        }
    }
}

void DoneStatements::startNumber(int64_t txnNumber) {
    txnNumber_ = txnNumber;
    parts_ = 0;
    done_.clear();
    results_.clear();
}

void DoneStatements::read(bson::Document stored) {
    if (!stored.find("txnNum").isInteger()) {
        return;
    }
    startNumber(stored.find("txnNum").toInt64());
    parts_ = static_cast<int32_t>(stored.find("parts").toInt64());
    if (const bson::Element done = stored.find("done"); done.isArray()) {
        std::vector<int32_t> ends;
        for (const bson::Element& end : done.document()) {
            ends.push_back(static_cast<int32_t>(end.toInt64()));
        }
        for (size_t i = 0; i + 1 < ends.size(); i += 2) {
            done_.emplace_back(ends[i], ends[i + 1]);
        }
    }
    if (const bson::Element results = stored.find("results"); results.isArray()) {
        for (const bson::Element& result : results.document()) {
            results_ += result.isObject() ? result.document().bytes() : ByteView();
        }
    }
}

bool DoneStatements::has(int32_t statement) const {
    const auto behind = firstBehind(done_, statement);
    return behind != done_.begin() && std::prev(behind)->second >= statement;
}

void DoneStatements::add(int32_t statement, const query::WriteResult& result) {
    const auto at = done_.begin() + (firstBehind(done_, statement) - done_.begin());
    const bool joinsBefore = at != done_.begin() && std::prev(at)->second + 1 == statement;
    const bool joinsBehind = at != done_.end() && at->first - 1 == statement;
    if (joinsBefore && joinsBehind) {
        std::prev(at)->second = at->second;
        done_.erase(at);
    } else if (joinsBefore) {
        std::prev(at)->second = statement;
    } else if (joinsBehind) {
        at->first = statement;
    } else {
        done_.emplace(at, statement, statement);
    }
    if (!isOrdinary(result)) {
        if (results_.size() > kResultBytesMax) {
            nextPart_ = std::exchange(results_, {});
        }
        results_ += resultDocument(statement, result).bytes();
    }
}

bson::OwnedDocument DoneStatements::partId(int32_t part) const {
    bson::Builder id;
    id.addFields(bson::Document(session_.data())).add("part", part);
    return bson::OwnedDocument(id.finish());
}

void DoneStatements::addFields(bson::Document id,
                               const std::string& results,
                               int64_t wallMs,
                               bson::Builder* out) const {
    out->add("_id", id).add("txnNum", txnNumber_);
    out->add("lastWriteDate", bson::Date{wallMs - wallMs % kDateStepMs});
    auto list = out->array("results");
    for (size_t at = 0; at < results.size();) {
        const bson::Document result(results.data() + at);
        list.push(result);
        at += result.size();
    }
}

std::vector<bson::OwnedDocument> DoneStatements::write(int64_t wallMs) {
    std::vector<bson::OwnedDocument> documents;
    if (!nextPart_.empty()) {
        bson::Builder part;
        addFields(partId(parts_++).view(), nextPart_, wallMs, &part);
        documents.emplace_back(part.finish());
        nextPart_.clear();
    }
    bson::Builder out;
    addFields(bson::Document(session_.data()), results_, wallMs, &out);
    {
        auto done = out.array("done");
        for (const auto& [first, last] : done_) {
            done.push(first).push(last);
        }
    }
    out.add("parts", parts_);
    documents.emplace_back(out.finish());
    return documents;
}

}  // namespace freshet::command
