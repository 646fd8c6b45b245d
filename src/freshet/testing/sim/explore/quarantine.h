// SPDX-License-Identifier: Apache-2.0
/// Memory deleted by a model is kept until its execution ends, so that a use after free is
/// recognised and no address is reused within an execution. Replaces operator delete in explore
/// binaries. Works on the calling OS thread only.
#pragma once

namespace freshet::testing {

class Quarantine {
public:
    /// Between resume() and pause() deleted memory is kept: model code runs then, not the explorer.
    static void resume();
    static void pause();
    /// Whether the address is in memory that was deleted since the last release().
    static bool holds(const void* address);
    /// Frees everything.
    static void release();
};

}  // namespace freshet::testing
