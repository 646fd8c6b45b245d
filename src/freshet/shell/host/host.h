// SPDX-License-Identifier: Apache-2.0
/// What the shell's JavaScript can use outside itself: connections, output, files, processes, time.
#pragma once

#include "freshet/script/context.h"
#include "freshet/shell/host/link.h"

#include <iosfwd>
#include <map>
#include <memory>
#include <optional>
#include <string>

namespace freshet::shell {

class Host {
public:
    /// `first` is connection 0. The streams and the link must outlive this.
    Host(Link& first, bool hasSessions, std::ostream& out, std::ostream& err)
        : first_(first), hasSessions_(hasSessions), out_(out), err_(err) {}

    Status define(script::Context& context);
    /// Set once a script has called quit().
    std::optional<int> exitCode() const { return exitCode_; }

private:
    using Function = StatusOr<script::Value> (Host::*)(bson::Document);

    StatusOr<script::Value> connect(bson::Document arguments);
    StatusOr<script::Value> run(bson::Document arguments);
    StatusOr<script::Value> close(bson::Document arguments);
    StatusOr<script::Value> logIn(bson::Document arguments);
    StatusOr<script::Value> print(bson::Document arguments);
    StatusOr<script::Value> printError(bson::Document arguments);
    StatusOr<script::Value> quit(bson::Document arguments);
    StatusOr<script::Value> sleep(bson::Document arguments);
    StatusOr<script::Value> environment(bson::Document arguments);
    StatusOr<script::Value> hostName(bson::Document arguments);
    StatusOr<script::Value> memory(bson::Document arguments);
    StatusOr<script::Value> commandLine(bson::Document arguments);
    StatusOr<script::Value> terminalColumns(bson::Document arguments);
    StatusOr<script::Value> version(bson::Document arguments);
    StatusOr<script::Value> askForPassword(bson::Document arguments);
    StatusOr<script::Value> runOperations(bson::Document arguments);

    StatusOr<Link*> linkOf(const bson::Element& handle);

    Link& first_;
    const bool hasSessions_;
    std::ostream& out_;
    std::ostream& err_;
    script::Context* context_ = nullptr;
    std::map<int32_t, std::unique_ptr<Link>> links_;
    int32_t lastHandle_ = 0;
    std::optional<int> exitCode_;
};

/// {handle, uri, database}: a connection as JavaScript sees it.
std::string describeLink(const Link& link, int32_t handle);

}  // namespace freshet::shell
