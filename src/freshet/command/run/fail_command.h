// SPDX-License-Identifier: Apache-2.0
/// The fail point `failCommand`: tests of drivers make commands fail, stall or lose their
/// connection with it. Behind enableTestCommands.
#pragma once

#include "freshet/command/run/invocation.h"

namespace freshet::command {

/// What failCommand has decided for one command.
struct FailCommand {
    /// Not null: it fires, and this is its data.
    std::shared_ptr<const std::string> data;

    bson::Document view() const { return bson::Document(data->data()); }
    bool closesConnection() const;
    /// Adds writeConcernError and errorLabels to the reply of a command that has run.
    void decorate(bson::Builder* reply) const;
};

/// It may fire for some command.
bool isFailCommandOn();
/// Whether it fires for this command.
FailCommand findFailCommand(const Invocation& call);
/// Blocks as long as it says: the connection (blockTimeMS), or the whole thread, as a command does
/// that never lets others run (holdThreadMS, ours). Then not ok: what the command is to answer
/// instead of running; call.errorInfo has the further fields of the reply.
sync::Task<Status> applyFailCommand(Invocation& call, const FailCommand& fail);

}  // namespace freshet::command
