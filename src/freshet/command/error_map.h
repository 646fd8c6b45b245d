// SPDX-License-Identifier: Apache-2.0
/// The wire's error codes: the one place that knows their numbers and names. Pure; any thread.
#pragma once

#include "freshet/base/status.h"

#include <cstdint>
#include <string>

namespace freshet::command {

struct WireError {
    int32_t code = 0;
    std::string name;  // "Location40415" for codes that have no name of their own
};

/// REQUIRES: a real reason (location() included), neither kNone nor kCount_.
WireError wireErrorOf(Reason reason);
/// REQUIRES: not ok. By the reason; by the code when there is no reason.
WireError wireErrorOf(const Status& status);

/// The server cannot write because it is no primary, or no longer.
bool isNotPrimaryError(int32_t code);
/// The server is shutting down.
bool isShutdownError(int32_t code);
/// Whether drivers may send a retryable write again after this error.
bool isRetryableWriteError(int32_t code);
/// Whether drivers may try a whole transaction again after this error of one of its statements, or
/// of its commit or abort.
bool isTransientTransactionError(int32_t code, bool isOfItsEnd);
/// The label that tells drivers whether they may resume a change stream after this error; empty:
/// none.
std::string_view changeStreamLabel(int32_t code);

}  // namespace freshet::command
