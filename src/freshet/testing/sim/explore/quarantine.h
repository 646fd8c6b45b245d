// SPDX-License-Identifier: Apache-2.0
/// Memory deleted by a model is kept back until its execution ends, so that a use after free is
/// seen as such and no address is reused under the explorer's feet. Replaces operator delete in
/// explore binaries. Works on the calling OS thread only.
#pragma once

namespace freshet::testing {

class Quarantine {
public:
    /// Between resume() and pause() deletes are kept back: model code runs then, not the explorer.
    static void resume();
    static void pause();
    /// Is the address in memory that was deleted since the last release()?
    static bool holds(const void* address);
    /// Gives all back to the allocator.
    static void release();
};

}  // namespace freshet::testing
