// SPDX-License-Identifier: Apache-2.0
/// The fail points that drivers' tests use: `failCommand` makes commands fail, stall or lose their
/// connection, `failGetMoreAfterCursorCheckout` a getMore whose cursor was found,
/// `maxTimeAlwaysTimeOut` those with a time limit; with `maxTimeNeverTimeOut` none has one. Only
/// with enableTestCommands. (`onPrimaryTransactionalWrite` is in retry/retryable_write.cpp.)
#pragma once

#include "freshet/command/run/invocation.h"

namespace freshet::command {

/// What fail points do to one command before it runs.
struct FailCommand {
    /// Not null: failCommand fires, and this is its data.
    std::shared_ptr<const std::string> data;
    /// maxTimeAlwaysTimeOut fires.
    bool timesOut = false;

    explicit operator bool() const { return data != nullptr || timesOut; }
    bson::Document view() const { return bson::Document(data->data()); }
    bool closesConnection() const;
    /// Whether a command that has run reports a writeConcernError.
    bool blamesWriteConcern() const;
    /// REQUIRES: blamesWriteConcern(). Adds writeConcernError and errorLabels to `reply`, or to the
    /// further fields of an error reply.
    void blameWriteConcern(Invocation& call, bson::Builder* reply) const;
};

/// Whether one of them may fire for some command before it runs.
bool mayFail();
/// Whether maxTimeMS is ignored.
bool hasNoTimeLimits();
/// For a getMore that holds its cursor, of collection `ns`: the error with which it ends.
Status failGetMoreIfTold(const Invocation& call, std::string_view ns);
/// Whether they fire for this command.
FailCommand findFailCommand(const Invocation& call);
/// REQUIRES: `fail` is true. Waits as long as it says: the connection (blockTimeMS), or the whole
/// thread (holdThreadMS, our extension), like a command that never yields. Then not ok: the error
/// that the command returns instead of running; call.errorInfo has the further fields of the reply.
sync::Task<Status> applyFailCommand(Invocation& call, const FailCommand& fail);

}  // namespace freshet::command
