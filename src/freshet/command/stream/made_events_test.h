// SPDX-License-Identifier: Apache-2.0
/// Events of the log, made from JSON. Tests only.
#pragma once

#include "freshet/bson/json.h"
#include "freshet/command/stream/committed_event.h"

#include <deque>
#include <string>

namespace freshet::command {

/// What it returns is valid as long as it lives.
class MadeEvents {
public:
    explicit MadeEvents(const std::string& options = "{}") {
        collection_.db = "shop";
        collection_.name = "orders";
        collection_.uuid = "0123456789abcdef";
        collection_.options = json(options);
    }

    static bson::OwnedDocument json(const std::string& text) {
        auto document = bson::fromJson(text);
        invariant(document.isOk());
        return std::move(*document);
    }

    CommittedEvent& insert(const std::string& after) {
        std::string bytes;
        catalog::encodeInsert(collection_, 1, &bytes);
        return add(bytes, after);
    }
    CommittedEvent& update(const std::string& before,
                           const std::string& after,
                           bool isReplacement = false) {
        std::string bytes;
        catalog::encodeUpdate(
            collection_, 1, json(before).view(), json(after).view(), isReplacement, &bytes);
        return add(bytes, after);
    }
    CommittedEvent& remove(const std::string& before) {
        std::string bytes;
        catalog::encodeDelete(collection_, 1, json(before).view(), &bytes);
        return add(bytes, "{}");
    }
    CommittedEvent& definition(catalog::EventKind kind, const std::string& details = "{}") {
        return definitionOn(collection_.name, collection_.uuid, kind, details);
    }
    CommittedEvent& note(const std::string& details) {
        std::string bytes;
        catalog::encodeDefinition(
            catalog::EventKind::kNote, {}, {}, {}, json(details).view(), &bytes);
        return add(bytes, "{}");
    }
    CommittedEvent& dropDatabase() {
        return definitionOn({}, {}, catalog::EventKind::kDropDatabase, "{}");
    }
    /// One as the last event of a transaction's commit.
    CommittedEvent& transaction() {
        std::string bytes;
        catalog::encodeDefinition(
            catalog::EventKind::kTransaction, {}, {}, {}, json(transactionText()).view(), &bytes);
        return add(bytes, "{}");
    }
    static std::string transactionText() {
        return R"({"lsid": {"id": {"$uuid": "11111111-2222-3333-4444-555555555555"}},)"
               R"( "txnNumber": {"$numberLong": "7"}})";
    }
    /// Says that the event is one of a transaction.
    void putIntoTransaction(CommittedEvent* event) {
        event->transaction = held_.emplace_back(json(transactionText())).view();
    }

private:
    CommittedEvent& definitionOn(std::string_view collection,
                                 ByteView uuid,
                                 catalog::EventKind kind,
                                 const std::string& details) {
        std::string bytes;
        catalog::encodeDefinition(
            kind, collection_.db, collection, uuid, json(details).view(), &bytes);
        return add(bytes, "{}");
    }
    CommittedEvent& add(const std::string& bytes, const std::string& after) {
        CommittedEvent committed;
        auto event = catalog::decodeEvent(bytes_.emplace_back(bytes));
        invariant(event.isOk());
        committed.event = *event;
        committed.lsn = 500;
        committed.timestamp = (uint64_t{1000} << 32) + 2;
        committed.wallMs = 1'000'000'123;
        committed.isLast = true;
        committed.after = held_.emplace_back(json(after)).view();
        return events_.emplace_back(committed);
    }

    catalog::Collection collection_;
    std::deque<std::string> bytes_;
    std::deque<bson::OwnedDocument> held_;
    std::deque<CommittedEvent> events_;
};

}  // namespace freshet::command
