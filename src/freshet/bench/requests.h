// SPDX-License-Identifier: Apache-2.0
/// The requests that the wire benchmark sends, in the form that a driver uses.
#pragma once

#include "freshet/bench/load.h"

#include <cstdint>
#include <string>

namespace freshet::bench {

inline constexpr std::string_view kDatabase = "bench";
inline constexpr std::string_view kGetCollection = "get";
inline constexpr std::string_view kPutCollection = "put";

/// A find by _id with limit 1, among _ids 0 to records - 1.
RequestTemplate getRequest(uint64_t records);
/// {ping: 1}.
RequestTemplate pingRequest();
/// An insert of one document {_id, value} in a document sequence.
RequestTemplate putRequest(size_t valueBytes, bool durable, uint64_t idBase);
/// The same as a retryable write: each connection is a session, and numbers its writes.
RequestTemplate retryableRequest(size_t valueBytes, bool durable, uint64_t idBase);
/// `requestBytes` bytes, which an echo server answers with any one message.
RequestTemplate echoRequest(size_t requestBytes);

/// {insert: get collection, documents: [...]} for _ids [from, to).
std::string preloadCommand(uint64_t from, uint64_t to, size_t valueBytes);
/// Text that does not compress well.
std::string valueOf(size_t bytes);

}  // namespace freshet::bench
