// SPDX-License-Identifier: Apache-2.0
/// Writes the images of all pages of a tree that are due, so that the images of a checkpoint hang
/// together (docs/decisions/0009):
///
///   INV-engine-13  every page that an image names has an image itself, at the latest in the same
///                  checkpoint; until then the naming page keeps its mark. One that had none gets
///                  one before it is written, or it would be forgotten if the disk is full in
///                  between.
///   INV-engine-14  a page whose mark was taken can be reached through images: the first image of a
///                  page makes a new image of the page it was split from due. That one comes later
///                  on the same walk; until its image counts, it holds the redo position.
#pragma once

#include "freshet/base/status.h"
#include "freshet/engine/checkpoint/page_scan.h"
#include "freshet/engine/txn/counted.h"

#include <deque>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace freshet::engine {

/// An image on its way to the disk.
struct NewImage {
    PageId page;
    std::string bytes;
    uint64_t note;
    block::PagePlace place = {};  // where it lies when it was written
};

/// What the writer needs around it; a model check has its own.
class CheckpointSink {
public:
    virtual ~CheckpointSink() = default;
    /// Calls `work` inside a slice. No slice is open when writeImages() is called.
    virtual void inSlice(const std::function<void()>& work) = 0;
    /// Between two pages, outside of slices: who waits for the processor may have it.
    virtual void giveWay() {}
    /// Leaves go soon, and with their changes.
    virtual bool isMemoryShort() const { return false; }
    /// The images, of one page each, count from the next checkpoint on, and what is noted of them.
    /// After a failure none of them does.
    virtual Status writeImages(std::span<NewImage> images) = 0;
    /// So many bytes of images of pages have been written, and none is on its way: leaves may be
    /// evicted before this returns.
    virtual void onBatch(uint64_t bytes) = 0;
    /// Whether one more page of the tree may be looked at for images that had better lie elsewhere.
    virtual bool takeLookToMove(uint32_t tree) = 0;
    /// Whether an image that lies there had better be written anew, elsewhere.
    virtual bool wantsMoved(const block::PagePlace& place) const = 0;
    /// One that lies there is going to be, for that reason alone.
    virtual void noteMove(const block::PagePlace& place) = 0;
    /// Brings the page's leaf into memory, if it is not there.
    virtual Status bringBack(PageTree& tree, PageEntry* entry) = 0;
    /// The pages have images and are no part of the tree any more, once this checkpoint is made.
    virtual void notePagesGone(uint32_t tree, const std::vector<PageId>& pages) = 0;
    /// The page, of a tree itself and not of one of its large values, has its first image.
    virtual void noteFirstImage(uint32_t tree, PageId page) = 0;
};

class TreeWriter {
public:
    /// Of images that are written at once. With more a write is hardly cheaper; readers wait behind
    /// them, and they take memory while it may be short.
    static constexpr size_t kImagesAtOnce = 16;
    TreeWriter(TreeEnv& env,
               PageTree& tree,
               CheckpointSink& sink,
               size_t imagesAtOnce = kImagesAtOnce)
        : env_(env), tree_(tree), sink_(sink), imagesAtOnce_(imagesAtOnce) {}
    ~TreeWriter();
    TreeWriter(const TreeWriter&) = delete;
    TreeWriter& operator=(const TreeWriter&) = delete;

    /// REQUIRES: writeDuePages() is next. Makes of sparse leaves fewer, which are then due.
    void removeSparse();
    /// After an error the checkpoint must not be made: what is still due will be written by the
    /// next one.
    Status writeDuePages();
    /// REQUIRES of the next two: writeDuePages() returned ok. Whatever has its image and was not
    /// written to since gets a base in memory that is as good, so that reading it finds nothing
    /// beside. All pages in memory, not only those written now: a snapshot may have been in the way
    /// last time. While memory is short, none: what was there before may not be free for a while.
    void foldRested();
    /// Whether no page was passed over because it was not known whether it can be reached.
    bool isWhole() const { return isWhole_; }

private:
    Status writeWalked();
    void noteIfDue(PageEntry* entry);
    Status addIfStillDue(PageEntry* entry);
    /// What had better lie elsewhere, of as many pages as may be looked at.
    Status moveSome();
    /// The same of a page that has an image.
    Status move(PageEntry* entry);
    /// Makes a page due whose image is to lie elsewhere.
    void markMoved(PageEntry* entry);
    /// Those of the page's leaf that are to lie elsewhere. The leaf's image names them by number.
    Status moveLargeValues(PageEntry* entry);
    Status moveLargeValue(ValueBuffer* value);
    Status writeOwed();
    /// The page and the unwritten ones to its right, of which the next is written or none.
    Status writeChain(PageEntry* first);
    static PageEntry* unwrittenRightOf(const PageEntry& entry);
    /// Scans the page. It is written with others: by writeScanned(), or here if they are enough.
    Status addPage(PageEntry* entry);
    Status writeScanned();
    /// Takes note that a scanned page has its image now.
    void noteWritten(PageEntry* entry, const block::PagePlace& place, bool namesUnwritten);
    Status writeLargeValues(const PageScan& scan);

    TreeEnv& env_;
    PageTree& tree_;
    CheckpointSink& sink_;
    const size_t imagesAtOnce_;
    bool isWhole_ = true;
    /// Found by the walk. Apart from it, as leaves that go between two batches leave its lists.
    CountedVector<PageEntry*> due_;
    struct Scanned {
        PageEntry* entry;
        bool namesUnwritten;
    };
    std::vector<Scanned> scanned_;       // and not written yet
    std::vector<NewImage> images_;       // theirs, and memory for more
    size_t scannedBytes_ = 0;            // of images
    std::deque<PageEntry*> owed_;        // named by an image that was written
    std::vector<PageEntry*> unsettled_;  // written ones whose images named unwritten ones
};

}  // namespace freshet::engine
