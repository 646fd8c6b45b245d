// SPDX-License-Identifier: Apache-2.0
#include "freshet/command/retry/statement_event.h"

#include "freshet/command/retry/done_statements.h"

namespace freshet::command {
namespace {

void addNumber(const std::string& session, int64_t txnNumber, bson::Builder* out) {
    out->add("lsid", bson::Document(session.data())).add("txnNumber", txnNumber);
}

std::string eventOf(catalog::EventKind kind, bson::Builder* details) {
    const std::string bytes = details->finish();
    std::string event;
    catalog::encodeDefinition(kind, {}, {}, {}, bson::Document(bytes.data()), &event);
    return event;
}

}  // namespace

std::string statementEvent(const std::string& session,
                           int64_t txnNumber,
                           int32_t statement,
                           const query::WriteResult& result) {
    bson::Builder details;
    addNumber(session, txnNumber, &details);
    addResult(statement, result, &details);
    return eventOf(catalog::EventKind::kStatement, &details);
}

std::string transactionEvent(const std::string& session, int64_t txnNumber) {
    bson::Builder details;
    addNumber(session, txnNumber, &details);
    return eventOf(catalog::EventKind::kTransaction, &details);
}

std::optional<SessionEvent> sessionEventOf(ByteView event) {
    using catalog::EventKind;
    const EventKind kind = catalog::kindOf(event);
    if (kind != EventKind::kStatement && kind != EventKind::kTransaction) {
        return std::nullopt;
    }
    const StatusOr<catalog::Event> decoded = catalog::decodeEvent(event);
    if (!decoded.isOk()) {
        return std::nullopt;
    }
    const bson::Element session = decoded->document.find("lsid");
    const bson::Element number = decoded->document.find("txnNumber");
    const bson::Element statement = decoded->document.find("stmtId");
    const bool isStatement = kind == EventKind::kStatement;
    if (!session.isObject() || !number.isInteger() || (isStatement && !statement.isInteger())) {
        return std::nullopt;
    }
    SessionEvent found;
    found.session = std::string(session.document().bytes());
    found.txnNumber = number.toInt64();
    if (isStatement) {
        found.statement = static_cast<int32_t>(statement.toInt64());
        found.result = decoded->document;
    }
    return found;
}

}  // namespace freshet::command
