// SPDX-License-Identifier: Apache-2.0
/// The events by which the log says what a session has done: kStatement {lsid, txnNumber, stmtId}
/// with the statement's result (done_statements.h), and kTransaction {lsid, txnNumber}. Pure.
#pragma once

#include "freshet/catalog/event.h"
#include "freshet/query/write.h"

#include <cstdint>
#include <optional>
#include <string>

namespace freshet::command {

/// `session`: its canonical name, see sessionName().
std::string statementEvent(const std::string& session,
                           int64_t txnNumber,
                           int32_t statement,
                           const query::WriteResult& result);
std::string transactionEvent(const std::string& session, int64_t txnNumber);

struct SessionEvent {
    std::string session;
    int64_t txnNumber = 0;
    std::optional<int32_t> statement;  // null: a transaction
    bson::Document result;             // of the statement, as addResult() makes it
};
/// Null: another kind of event, or not what these functions write. Views into `event`.
std::optional<SessionEvent> sessionEventOf(ByteView event);

}  // namespace freshet::command
