// SPDX-License-Identifier: Apache-2.0
/// The fail point `failCommand`: drivers' tests use it to make commands fail, stall or lose their
/// connection. Only with enableTestCommands.
#pragma once

#include "freshet/command/run/invocation.h"

namespace freshet::command {

/// What failCommand does to one command.
struct FailCommand {
    /// Not null: it fires, and this is its data.
    std::shared_ptr<const std::string> data;

    bson::Document view() const { return bson::Document(data->data()); }
    bool closesConnection() const;
    /// Whether a command that has run reports a writeConcernError.
    bool blamesWriteConcern() const;
    /// REQUIRES: blamesWriteConcern(). Adds writeConcernError and errorLabels to `reply`, or to the
    /// further fields of an error reply.
    void blameWriteConcern(Invocation& call, bson::Builder* reply) const;
};

/// Whether it may fire for some command.
bool isFailCommandOn();
/// Whether it fires for this command.
FailCommand findFailCommand(const Invocation& call);
/// Waits as long as it says: the connection (blockTimeMS), or the whole thread (holdThreadMS, our
/// extension), like a command that never yields. Then not ok: the error that the command returns
/// instead of running; call.errorInfo has the further fields of the reply.
sync::Task<Status> applyFailCommand(Invocation& call, const FailCommand& fail);

}  // namespace freshet::command
