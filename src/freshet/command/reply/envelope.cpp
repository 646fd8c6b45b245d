// SPDX-License-Identifier: Apache-2.0
#include "freshet/command/reply/envelope.h"

#include "freshet/bson/json.h"
#include "freshet/command/access/replica_set_member.h"
#include "freshet/command/error_map.h"
#include "freshet/wire/message.h"

namespace freshet::command {
namespace {

void addTimes(const Services& services, bson::Builder* reply) {
    if (isReplicaSet(services)) {
        addClusterTime(services, reply);
    }
}

}  // namespace

void addErrorLabels(int32_t code, ErrorOf whose, bson::Document request, bson::Builder* reply) {
    if (!request.has("txnNumber")) {
        return;
    }
    const std::string_view name = request.begin()->name();
    const bool ends = name == "commitTransaction" || name == "abortTransaction";
    if (whose == ErrorOf::kCommand && request.has("autocommit") &&
        isTransientTransactionError(code, ends)) {
        reply->array("errorLabels").push("TransientTransactionError");
    } else if (isRetryableWriteError(code) && (ends || !request.has("autocommit"))) {
        reply->array("errorLabels").push("RetryableWriteError");
    }
}

void addErrorTopology(const Services& services, int32_t code, bson::Builder* reply) {
    // A shutdown changes the topology when it begins. Before that only fail points give its errors,
    // and with a version that drivers know they would take the error for old and ignore it.
    // [shutdown.topologyOfError] ORDER relaxed: only the flag itself counts.
    const bool isShuttingDown = services.isShuttingDown.load(sync::kRelaxed);
    if (isReplicaSet(services) &&
        (isNotPrimaryError(code) || (isShutdownError(code) && isShuttingDown))) {
        addTopologyVersion(services, reply);
    }
}

void addOk(const Services& services, bson::Builder* reply) {
    reply->add("ok", 1.0);
    addTimes(services, reply);
}

void setError(const Services& services, const ErrorReply& error, std::string* message) {
    const WireError shown = wireErrorOf(error.status);
    message->resize(wire::kOpMsgBodyAt);
    bson::Builder reply(message);
    // Error texts quote what the client sent, which need not be UTF-8.
    reply.add("ok", 0.0).add("errmsg", bson::repairedUtf8(error.status.text()));
    reply.add("code", shown.code).add("codeName", shown.name);
    if (error.info.size() <= bson::kDocumentBytesMax) {
        reply.addFields(error.info);
    }
    if (!error.hasLabels && !error.info.has("errorLabels")) {
        const std::string_view ofStream =
            error.isOfChangeStream ? changeStreamLabel(shown.code) : std::string_view();
        if (ofStream.empty()) {
            addErrorLabels(shown.code, ErrorOf::kCommand, error.request, &reply);
        } else {
            reply.array("errorLabels").push(ofStream);
        }
    }
    if (!error.info.has("topologyVersion")) {
        addErrorTopology(services, shown.code, &reply);
    }
    addTimes(services, &reply);
}

}  // namespace freshet::command
