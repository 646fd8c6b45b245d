// SPDX-License-Identifier: Apache-2.0
/// What jemalloc is told before main() begins. A program includes this header once, beside its
/// main(); without jemalloc (sanitizers) it means nothing. Huge pages: see decision 0012. An arena
/// for each processor: memory that leaves are evicted from is used again, whoever reads the next
/// one, see decision 0013. When unused pages go back is decided later, see memory.h.
#pragma once

/// jemalloc's name for it.
extern "C" const char* malloc_conf;
[[gnu::used]] const char* malloc_conf =
    "thp:always,metadata_thp:auto,percpu_arena:percpu,dirty_decay_ms:-1,muzzy_decay_ms:0";
