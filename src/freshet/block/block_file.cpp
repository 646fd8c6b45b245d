// SPDX-License-Identifier: Apache-2.0
/// Reads, writes and flushes pages, and reports statistics. Opening and checkpoints are in root/.
#include "freshet/block/block_file.h"

#include "freshet/block/extent/used_blocks.h"
#include "freshet/block/root/image.h"
#include "freshet/block/root/impl.h"
#include "freshet/block/root/loaded.h"

#include <algorithm>
#include <cstring>
#include <mutex>

namespace freshet::block {
namespace {

constexpr unsigned kImageCounterBits = 40;
/// Memory of an image that no commit has named, in a hash table: its node, with the overhead of the
/// table and of the allocator.
constexpr uint64_t kUnnamedBytes = 56;

}  // namespace

BlockFile::BlockFile(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
BlockFile::~BlockFile() = default;

const Root& BlockFile::root() const {
    return impl_->root;
}

uint32_t BlockFile::startNo() const {
    return impl_->durable.startNo;
}

Status BlockFile::forEachPage(const std::function<Status(PageId, const PagePlace&)>& sink) const {
    return impl_->map.forEach(*impl_->file, sink);
}

StatusOr<PagePlace> BlockFile::writePage(ByteView image, Codec codec, uint64_t note) {
    const NewImage one{image, codec, note};
    FRESHET_ASSIGN_OR_RETURN(const std::vector<PagePlace> places, writePages({&one, 1}));
    return places[0];
}

StatusOr<std::vector<PagePlace>> BlockFile::writePages(std::span<const NewImage> images) {
    Impl& impl = *impl_;
    FRESHET_RETURN_IF_ERROR(impl.mayWrite());
    impl.outgoing.resize(std::max(impl.outgoing.size(), images.size()));
    std::vector<PagePlace> places;
    places.reserve(images.size());
    Status status;
    for (size_t i = 0; i < images.size() && status.isOk(); ++i) {
        PagePlace place;
        status = impl.prepare(images[i], images.size(), &impl.outgoing[i], &place);
        if (status.isOk()) {
            places.push_back(place);
        }
    }
    if (status.isOk()) {
        status = impl.writeOutgoing(places);
    }
    if (status.isOk()) {
        impl.noteUnnamed(places);
    } else {
        for (const PagePlace& place : places) {
            impl.space.give(place.extent);
        }
    }
    impl.publishStats();
    return status.isOk() ? StatusOr<std::vector<PagePlace>>(std::move(places)) : status;
}

Status BlockFile::Impl::prepare(const NewImage& wanted,
                                size_t atOnce,
                                PageBuffer* stored,
                                PagePlace* place) {
    const bool isPacked =
        wanted.codec != Codec::kNone && packImage(wanted.image, wanted.codec, &packed);
    const ByteView image = isPacked ? ByteView(packed) : wanted.image;
    const size_t bytes = image.size();
    const uint64_t blocks = blocksOf(bytes);
    if (blocks > kPlaceBlocksMax) {
        return Status(Code::kLimit,
                      "a page image of " + std::to_string(bytes) + " bytes is too large");
    }
    FRESHET_ASSIGN_OR_RETURN(const Extent extent,
                             space.take(static_cast<uint32_t>(blocks), commitNeedBlocks(atOnce)));
    char* out = stored->reset(bytes);
    image.copy(out, bytes);
    std::memset(out + bytes, 0, blocks * kBlockBytes - bytes);
    const Plain plain{isPacked ? wanted.codec : Codec::kNone, wanted.image.size()};
    *place =
        sealImage(out, bytes, plain, uint64_t{durable.startNo} << kImageCounterBits | nextImage++);
    place->extent = extent;
    place->note = wanted.note;
    hasCompressed |= isPacked;
    counted.pagesCompressed += isPacked ? 1 : 0;
    counted.bytesSaved += (blocksOf(wanted.image.size()) - blocks) * kBlockBytes;
    return Status::ok();
}

Status BlockFile::Impl::writeOutgoing(const std::vector<PagePlace>& places) {
    std::vector<platform::BatchWrites::Write> writes;
    writes.reserve(places.size());
    for (size_t i = 0; i < places.size(); ++i) {
        const Extent& extent = places[i].extent;
        writes.push_back(
            {{outgoing[i].data(), extent.blocks * kBlockBytes}, extent.firstBlock * kBlockBytes});
    }
    Status status = batch.write(*file, writes);
    for (PageBuffer& buffer : outgoing) {
        buffer.trim();
    }
    return status;
}

void BlockFile::Impl::noteUnnamed(const std::vector<PagePlace>& places) {
    for (const PagePlace& place : places) {
        const uint32_t blocks = place.extent.blocks;
        unnamed[place.extent.firstBlock] = {blocks, nextFlushNo};
        ++counted.pagesWritten;
        counted.bytesWritten += blocks * kBlockBytes;
    }
}

StatusOr<ByteView> BlockFile::readPage(PageId page,
                                       const PagePlace& place,
                                       PageBuffer* buffer) const {
    StatusOr<ByteView> image = readImage(*impl_->file, page, place, buffer);
    return image.isOk() ? image : std::move(image).status().withContext(impl_->options.path);
}

bool BlockFile::canReadAsync() const {
    return impl_->file->canReadAsync();
}

Status BlockFile::startRead(PageId page,
                            const PagePlace& place,
                            PageBuffer* buffer,
                            platform::AsyncReads* reads,
                            platform::AsyncReads::Read* read) const {
    StatusOr<size_t> bytes = bytesToRead(page, place);
    if (!bytes.isOk()) {
        return std::move(bytes).status().withContext(impl_->options.path);
    }
    read->out = buffer->reset(*bytes);
    read->bytes = *bytes;
    read->offset = place.extent.firstBlock * kBlockBytes;
    reads->start(*impl_->file, read);
    return Status::ok();
}

StatusOr<ByteView> BlockFile::openRead(PageId page,
                                       const PagePlace& place,
                                       const platform::AsyncReads::Read& read,
                                       PageBuffer* buffer) const {
    StatusOr<ByteView> image = read.status.isOk() ? openImage(page, place, read.got, buffer)
                                                  : StatusOr<ByteView>(read.status);
    return image.isOk() ? image : std::move(image).status().withContext(impl_->options.path);
}

Status BlockFile::readPage(PageId page, const PagePlace& place, std::string* image) const {
    PageBuffer buffer;
    FRESHET_ASSIGN_OR_RETURN(const ByteView bytes, readPage(page, place, &buffer));
    image->assign(bytes);
    return Status::ok();
}

void BlockFile::discard(const PagePlace& place) {
    Impl& impl = *impl_;
    auto image = impl.unnamed.find(place.extent.firstBlock);
    invariant(image != impl.unnamed.end() && image->second.blocks == place.extent.blocks);
    if (image->second.isRefused) {
        impl.refused.add(place.extent);
    } else {
        impl.space.give(place.extent);
    }
    impl.unnamed.erase(image);
    impl.publishStats();
}

bool BlockFile::wantsMoves() const {
    return impl_->space.hasLimit();
}

bool BlockFile::wantsMoved(const Extent& extent) const {
    return impl_->space.wantsMoved(extent, extent.blocks);
}

void BlockFile::noteMove(uint64_t blocks) {
    impl_->space.noteMove(blocks);
}

bool BlockFile::wantsCommit() const {
    return impl_->space.isShrinking() || impl_->canMoveRuns();
}

bool BlockFile::bypassCache() {
    return impl_->file->bypassCache();
}

Status BlockFile::makeRoom() {
    FRESHET_RETURN_IF_ERROR(impl_->mayWrite());
    FRESHET_RETURN_IF_ERROR(impl_->overwriteRefused());
    Status status = impl_->space.makeRoom();
    impl_->publishStats();
    return status;
}

Status BlockFile::flush() {
    FRESHET_RETURN_IF_ERROR(impl_->mayWrite());
    Status status = impl_->syncFile();
    impl_->publishStats();
    return status.isOk() ? status : impl_->fail(status);
}

Status BlockFile::Impl::syncFile() {
    FRESHET_RETURN_IF_ERROR(file->sync());
    ++nextFlushNo;
    ++counted.flushes;
    return Status::ok();
}

Status BlockFile::Impl::mayWrite() const {
    invariant(isStarted);
    return failure;
}

Status BlockFile::Impl::fail(Status status) {
    failure = status;
    return status;
}

void BlockFile::Impl::publishStats() {
    counted.fileBytes = space.fileBlocks() * kBlockBytes;
    counted.freeBytes = space.freeBlocks() * kBlockBytes;
    counted.mappedPages = map.pages();
    counted.bytesGivenBack = space.givenBackBlocks() * kBlockBytes;
    counted.spaceShort = space.isShort();
    counted.pendingBytes = (replaced.blocks + refused.blocks) * kBlockBytes;
    counted.memoryBytes = map.memoryBytes() + space.memoryBytes() + unnamed.size() * kUnnamedBytes +
                          replaced.memoryBytes() + refused.memoryBytes();
    std::lock_guard<sync::Mutex> lock(statsMutex);
    published = counted;
}

Stats BlockFile::stats() const {
    std::lock_guard<sync::Mutex> lock(impl_->statsMutex);
    return impl_->published;
}

StatusOr<VerifyReport> BlockFile::verify() const {
    VerifyReport report;
    auto note = [&](const Status& status) {
        if (report.errors.size() < kVerifyErrorsMax) {
            report.errors.emplace_back(status.text());
        }
    };
    UsedBlocks used(impl_->space.fileBlocks());
    auto noteUsed = [&](const std::string& what, const Extent& extent) {
        if (Status status = used.add(extent); !status.isOk()) {
            note(status.withContext(impl_->options.path + ": " + what));
        }
    };
    noteUsed("superblocks", {0, kSuperblockCopies});
    for (const Extent& extent : runExtents(impl_->durable)) {
        noteUsed("a run of the page map", extent);
    }
    PageBuffer buffer;
    Status walked = forEachPage([&](PageId page, const PagePlace& place) -> Status {
        noteUsed("page " + std::to_string(page), place.extent);
        ++report.pages;
        report.bytes += place.extent.blocks * kBlockBytes;
        const Status status = readPage(page, place, &buffer).status();
        if (status.code() == Code::kIo) {
            return status;
        }
        if (!status.isOk()) {
            note(status);
        }
        return Status::ok();
    });
    if (walked.code() == Code::kCorruption) {
        note(walked);  // the map itself: the rest of it is unknown
    } else if (!walked.isOk()) {
        return walked;
    }
    return report;
}

}  // namespace freshet::block
