// SPDX-License-Identifier: Apache-2.0
#include "freshet/sync/task_frames.h"

#include "freshet/base/sanitizer.h"

#include <new>

namespace freshet::sync {
namespace {

constexpr size_t kStep = 64;
constexpr size_t kClasses = 32;    // frames up to 2 KiB are kept
constexpr unsigned kKeptMax = 64;  // of each size and thread

struct FreeFrame {
    FreeFrame* next;
};

/// The frames that a thread keeps. No constructor or destructor, so that access costs nothing.
struct Frames {
    FreeFrame* free[kClasses];
    unsigned count[kClasses];
    bool isWatched;  // a Watch empties them when the thread ends
};
constinit thread_local Frames frames{};

/// Empties the thread's frames at its end.
struct Watch {
    ~Watch() {
        for (size_t kind = 0; kind < kClasses; ++kind) {
            while (FreeFrame* frame = frames.free[kind]) {
                frames.free[kind] = frame->next;
                ::operator delete(frame);
            }
            frames.count[kind] = kKeptMax;  // frames freed after this are not kept
        }
    }
};

void watchThisThread() {
    thread_local Watch watch;
    frames.isWatched = true;
}

}  // namespace

void* allocateFrame(size_t bytes) {
    const size_t kind = (bytes - 1) / kStep;
    if (kIsAddressSanitized || kind >= kClasses) {
        return ::operator new(bytes);
    }
    Frames& mine = frames;
    if (FreeFrame* frame = mine.free[kind]) {
        mine.free[kind] = frame->next;
        --mine.count[kind];
        return frame;
    }
    return ::operator new((kind + 1) * kStep);
}

void freeFrame(void* frame, size_t bytes) noexcept {
    const size_t kind = (bytes - 1) / kStep;
    if (kIsAddressSanitized || kind >= kClasses || frames.count[kind] >= kKeptMax) {
        ::operator delete(frame);
        return;
    }
    Frames& mine = frames;
    if (!mine.isWatched) [[unlikely]] {
        watchThisThread();
    }
    mine.free[kind] = new (frame) FreeFrame{mine.free[kind]};
    ++mine.count[kind];
}

}  // namespace freshet::sync
