// SPDX-License-Identifier: Apache-2.0
#include "freshet/transport/verbs.h"

namespace freshet::transport::verbs {

const char* name(CompletionStatus status) {
    switch (status) {
        case CompletionStatus::kOk:
            return "none";
        case CompletionStatus::kFlushed:
            return "the queue pair has failed";
        case CompletionStatus::kAccess:
            return "the peer refused the access";
        case CompletionStatus::kPeerGone:
            return "the peer does not answer";
        case CompletionStatus::kNoReceive:
            return "the peer had no receive posted";
        case CompletionStatus::kLocal:
            return "a request of our own was wrong";
        case CompletionStatus::kOther:
            break;
    }
    return "the adapter says so";
}

}  // namespace freshet::transport::verbs
