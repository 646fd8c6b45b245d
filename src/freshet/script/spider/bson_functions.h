// SPDX-License-Identifier: Apache-2.0
/// What js/*.js asks of the room bson: object ids, decimals, Extended JSON, comparing.
#pragma once

#include "freshet/script/context.h"

namespace freshet::script {

Status defineBsonFunctions(Context& context);

}  // namespace freshet::script
