// SPDX-License-Identifier: Apache-2.0
/// What jemalloc is told before main() begins. A program includes this header once, beside its
/// main(); without jemalloc (sanitizers) it means nothing. Huge pages: see decision 0012.
#pragma once

/// jemalloc's name for it.
extern "C" const char* malloc_conf;
[[gnu::used]] const char* malloc_conf = "thp:always,metadata_thp:auto";
