// SPDX-License-Identifier: Apache-2.0
/// The functions of the bson room that js/*.js uses: object ids, decimals, Extended JSON,
/// comparing.
#pragma once

#include "freshet/script/context.h"

namespace freshet::script {

Status defineBsonFunctions(Context& context);

}  // namespace freshet::script
