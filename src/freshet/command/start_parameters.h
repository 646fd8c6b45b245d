// SPDX-License-Identifier: Apache-2.0
/// Parameters on the command line and in configuration files (--setParameter name=value).
#pragma once

#include "freshet/base/status.h"

#include <string_view>

namespace freshet::command {

/// kInvalid, with a text for the operator, unless the parameter exists, may be set at start, and
/// accepts this value. Values that pass go into ServerFacts::startParameters.
Status checkStartParameter(std::string_view name, std::string_view text);

}  // namespace freshet::command
