// SPDX-License-Identifier: Apache-2.0
/// AsyncReads on io_uring. One more operation is always in flight: a read of the eventfd that
/// wake() writes to.
#include "freshet/platform/async_reads.h"

#include "freshet/base/assert.h"
#include "freshet/platform/uring/open_ring.h"
#include "freshet/platform/uring/read_steps.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace freshet::platform {

struct AsyncReads::Impl {
    Status open(unsigned readsAtOnce);
    ~Impl();

    void put(Read* read);
    void listenForWake();
    /// Submits what was started. At least `waitsFor` results are available then, unless a signal
    /// came. Called again if not everything was submitted.
    void enter(unsigned waitsFor);
    /// A read that is over, from the available results, or null.
    Read* take();
    void startWaiting();

    io_uring ring{};
    bool hasRing = false;
    int eventFd = -1;
    uint64_t rung = 0;     // target of the eventfd's read; unused
    bool isWoken = false;  // and await() has not returned null for it yet
    bool isEnding = false;
    size_t room = 0;        // for reads that may still be submitted
    size_t underWay = 0;    // reads in the system
    Read* first = nullptr;  // of those that wait to be submitted
    Read* last = nullptr;
};

namespace {

Status unavailable(const char* what, int error) {
    return Status(Code::kUnavailable, std::string(what) + ": " + std::strerror(error));
}

/// Copies the bytes that the system has put into a piece.
void bringOver(AsyncReads::Read* read) {
    if (read->piece.data() != nullptr) {
        std::memcpy(read->out, read->piece.data(), read->got);
        read->piece = TransferPiece();
    }
}

}  // namespace

Status AsyncReads::Impl::open(unsigned readsAtOnce) {
    room = readsAtOnce;
    if (const int result = openRing(readsAtOnce + 1, &ring); result != 0) {
        return unavailable("io_uring", -result);
    }
    hasRing = true;
    // Not with EFD_NONBLOCK: the ring would report that there is nothing instead of waiting.
    eventFd = ::eventfd(0, EFD_CLOEXEC);
    if (eventFd < 0) {
        return unavailable("eventfd", errno);
    }
    listenForWake();
    return Status::ok();
}

AsyncReads::Impl::~Impl() {
    if (eventFd >= 0) {
        // The kernel must not write to `rung` after it is freed, so that read has to end.
        const uint64_t one = 1;
        invariant(::write(eventFd, &one, sizeof(one)) == sizeof(one));
        isEnding = true;
        for (isWoken = false; !isWoken;) {
            enter(1);
            invariant(take() == nullptr);
        }
        ::close(eventFd);
    }
    if (hasRing) {
        io_uring_queue_exit(&ring);
    }
}

void AsyncReads::Impl::put(Read* read) {
    io_uring_sqe* entry = io_uring_get_sqe(&ring);
    invariant(entry != nullptr);  // there is one for each read that has room
    char* const out = read->piece.data() != nullptr ? read->piece.data() : read->out;
    io_uring_prep_read(entry,
                       read->descriptor,
                       out + read->got,
                       static_cast<unsigned>(read->bytes - read->got),
                       read->offset + read->got);
    io_uring_sqe_set_data(entry, read);
}

void AsyncReads::Impl::listenForWake() {
    io_uring_sqe* entry = io_uring_get_sqe(&ring);
    invariant(entry != nullptr);
    io_uring_prep_read(entry, eventFd, &rung, sizeof(rung), 0);
    io_uring_sqe_set_data(entry, nullptr);
}

void AsyncReads::Impl::enter(unsigned waitsFor) {
    // After a failure the kernel might still use memory that we do not know of.
    invariant(enterRing(&ring, waitsFor) >= 0);
}

AsyncReads::Read* AsyncReads::Impl::take() {
    io_uring_cqe* entry = nullptr;
    while (io_uring_peek_cqe(&ring, &entry) == 0) {
        auto* read = static_cast<Read*>(io_uring_cqe_get_data(entry));
        const int result = entry->res;
        io_uring_cqe_seen(&ring, entry);
        if (read == nullptr) {
            isWoken = true;
            if (!isEnding) {
                listenForWake();
            }
            continue;
        }
        if (noteResult(read, result)) {
            --underWay;
            ++room;
            bringOver(read);
            return read;
        }
        put(read);
    }
    return nullptr;
}

void AsyncReads::Impl::startWaiting() {
    while (room > 0 && first != nullptr) {
        Read* read = std::exchange(first, first->next);
        --room;
        ++underWay;
        if (read->wantsPiece) {
            read->piece = TransferPiece(read->bytes);
        }
        put(read);
    }
}

AsyncReads::AsyncReads(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

AsyncReads::~AsyncReads() {
    invariant(impl_->underWay == 0 && impl_->first == nullptr);
}

StatusOr<std::unique_ptr<AsyncReads>> AsyncReads::create(unsigned readsAtOnce) {
    auto impl = std::make_unique<Impl>();
    FRESHET_RETURN_IF_ERROR(impl->open(readsAtOnce));
    return std::unique_ptr<AsyncReads>(new AsyncReads(std::move(impl)));
}

void AsyncReads::start(const File& file, Read* read) {
    Impl& impl = *impl_;
    read->descriptor = file.blockDescriptor();
    invariant(read->descriptor >= 0);
    read->status = Status();
    read->got = 0;
    read->refusals = 0;
    read->next = nullptr;
    read->wantsPiece = file.bypassesCache() && !TransferPiece::isOnePiece(read->out, read->bytes);
    (impl.first == nullptr ? impl.first : impl.last->next) = read;
    impl.last = read;
}

AsyncReads::Read* AsyncReads::poll() {
    Impl& impl = *impl_;
    Read* read = impl.take();
    impl.startWaiting();
    // A caller that gets nothing is going to wait, and one call then does both.
    if (read != nullptr && io_uring_sq_ready(&impl.ring) > 0) {
        impl.enter(0);
    }
    return read;
}

AsyncReads::Read* AsyncReads::await() {
    Impl& impl = *impl_;
    for (;;) {
        impl.startWaiting();
        if (Read* read = impl.take()) {
            return read;
        }
        if (std::exchange(impl.isWoken, false)) {
            return nullptr;
        }
        impl.enter(1);
    }
}

void AsyncReads::wake() {
    const uint64_t one = 1;
    // It can fail only after 2^64 unread calls.
    invariant(::write(impl_->eventFd, &one, sizeof(one)) == sizeof(one));
}

}  // namespace freshet::platform
