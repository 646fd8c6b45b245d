// SPDX-License-Identifier: Apache-2.0
/// jemalloc's settings before main() begins. A program includes this header once, beside its
/// main(); without jemalloc (sanitizers) it has no effect. Huge pages: see decision 0012. One arena
/// per processor: memory of evicted leaves is reused, whichever thread reads the next one, see
/// decision 0013. When unused pages are returned to the system is decided later, see memory.h.
#pragma once

/// The name that jemalloc looks up.
extern "C" const char* malloc_conf;
[[gnu::used]] const char* malloc_conf =
    "thp:always,metadata_thp:auto,percpu_arena:percpu,dirty_decay_ms:-1,muzzy_decay_ms:0";
