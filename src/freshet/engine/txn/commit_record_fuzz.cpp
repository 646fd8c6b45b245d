// SPDX-License-Identifier: Apache-2.0
/// Fuzzer of the commit record reader: any bytes give changes and events within them, or an error.
#include "freshet/engine/commit_reader.h"

#include <cstddef>
#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const freshet::ByteView body(reinterpret_cast<const char*>(data), size);
    auto reader = freshet::engine::CommitReader::open(body);
    if (!reader.isOk()) {
        return 0;
    }
    size_t bytes = 0;
    freshet::engine::CommitChange change;
    while (reader->next(&change)) {
        bytes += change.key.size() + change.value.size();
    }
    freshet::ByteView event;
    while (reader->nextEvent(&event)) {
        bytes += event.size();
    }
    if (bytes > size) {
        __builtin_trap();
    }
    return 0;
}
