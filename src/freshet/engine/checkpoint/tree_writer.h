// SPDX-License-Identifier: Apache-2.0
/// Writes the images of all due pages of a tree, such that the images of a checkpoint are
/// consistent with each other (docs/design/engine.md, "Checkpoint"; decision 0009):
///
///   INV-engine-13  every page that an image names has an image itself, at the latest in the same
///                  checkpoint; until then the naming page keeps its mark. A page that had no mark
///                  gets one before it is written, or it would be forgotten if the disk becomes
///                  full in between.
///   INV-engine-14  a page whose mark was taken can be reached through images: the first image of a
///                  page makes a new image of the page it was split from due. That page comes later
///                  in the same walk; until its image counts, it holds the redo position.
#pragma once

#include "freshet/base/status.h"
#include "freshet/engine/checkpoint/page_scan.h"
#include "freshet/engine/memory/counted.h"

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
    block::PagePlace place = {};  // set when it was written
};

/// The writer's environment; model checks have their own.
class CheckpointSink {
public:
    virtual ~CheckpointSink() = default;
    /// Calls `work` inside a slice. No slice is open when writeImages() is called.
    virtual void inSlice(const std::function<void()>& work) = 0;
    /// Called between two pages, outside of slices: a waiting thread may get the processor.
    virtual void giveWay() {}
    /// Whether leaves will soon be evicted, together with their changes.
    virtual bool isMemoryShort() const { return false; }
    /// Writes the images, one for each page, and their notes; they count from the next checkpoint
    /// on. After a failure none of them does.
    virtual Status writeImages(std::span<NewImage> images) = 0;
    /// That many bytes of page images have been written, and no write is under way: leaves may be
    /// evicted before this returns.
    virtual void onBatch(uint64_t bytes) = 0;
    /// Whether one more page of the tree may be looked at for images that should be moved.
    virtual bool takeLookToMove(uint32_t tree) = 0;
    /// Whether an image at that place should be written anew elsewhere.
    virtual bool wantsMoved(const block::PagePlace& place) const = 0;
    /// An image at that place will be moved, for that reason alone.
    virtual void noteMove(const block::PagePlace& place) = 0;
    /// Brings the page's leaf into memory, if it is not there.
    virtual Status bringBack(PageTree& tree, PageEntry* entry) = 0;
    /// The pages have images, and are no part of the tree once this checkpoint is made.
    virtual void notePagesGone(uint32_t tree, const std::vector<PageId>& pages) = 0;
    /// The page, which is part of a tree and not a large value, has its first image.
    virtual void noteFirstImage(uint32_t tree, PageId page) = 0;
};

class TreeWriter {
public:
    /// Number of images written at once. With more a write is hardly cheaper; reads queue behind
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

    /// REQUIRES: writeDuePages() is next. Merges sparse leaves; the pages involved are due then.
    void removeSparse();
    /// After an error the checkpoint must not be made: the next one will write what is still due.
    Status writeDuePages();
    /// REQUIRES of the next two: writeDuePages() returned ok. Gives every page that has its image
    /// and was not written to since an equivalent base in memory, so that reads find no changes
    /// beside it. For all pages in memory, not only those written now: last time a snapshot may
    /// have prevented it. None while memory is short: the old pages may not be freed for a while.
    void foldRested();
    /// Whether no page was passed over because it was unknown whether it can be reached.
    bool isWhole() const { return isWhole_; }

private:
    Status writeWalked();
    void noteIfDue(PageEntry* entry);
    Status addIfStillDue(PageEntry* entry);
    /// Moves images that should lie elsewhere, of as many pages as may be looked at.
    Status moveSome();
    /// The same for one page that has an image.
    Status move(PageEntry* entry);
    /// Makes a page due because its image should lie elsewhere.
    void markMoved(PageEntry* entry);
    /// Moves the large values of the page's leaf that should lie elsewhere. The leaf's image names
    /// them by number.
    Status moveLargeValues(PageEntry* entry);
    Status moveLargeValue(ValueBuffer* value);
    Status writeOwed();
    /// Writes the page and the pages without images to its right.
    Status writeChain(PageEntry* first);
    static PageEntry* unwrittenRightOf(const PageEntry& entry);
    /// Scans the page. It is written with others: by writeScanned(), or here when there are enough.
    Status addPage(PageEntry* entry);
    Status writeScanned();
    /// Records that a scanned page now has its image.
    void noteWritten(PageEntry* entry, const block::PagePlace& place, bool namesUnwritten);
    Status writeLargeValues(const PageScan& scan);

    TreeEnv& env_;
    PageTree& tree_;
    CheckpointSink& sink_;
    const size_t imagesAtOnce_;
    bool isWhole_ = true;
    /// Found by the walk. A separate list, since leaves evicted between two batches leave the
    /// tree's lists.
    CountedVector<PageEntry*> due_;
    struct Scanned {
        PageEntry* entry;
        bool namesUnwritten;
    };
    std::vector<Scanned> scanned_;       // scanned and not written yet
    std::vector<NewImage> images_;       // of scanned_, with memory for more
    size_t scannedBytes_ = 0;            // of images
    std::deque<PageEntry*> owed_;        // named by an image that was written
    std::vector<PageEntry*> unsettled_;  // written pages whose images name pages without one
};

}  // namespace freshet::engine
