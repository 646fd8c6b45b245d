// SPDX-License-Identifier: Apache-2.0
/// The planted bugs of this room; see base/mutant.h.
#pragma once

#include "freshet/base/mutant.h"

#include <cstdint>

namespace freshet::engine {

enum class Mutant : uint8_t {
    kNone,
    kNoVersionMark,        // freeze leaves DeltaKey::ver unmarked
    kNoNextMark,           // freeze leaves DeltaKey::next[0] unmarked
    kNoBucketMark,         // freeze leaves the bucket heads unmarked
    kNoCellMark,           // freeze leaves the cells of record ids unmarked
    kRelaxedPush,          // a version is published without release
    kRelaxedInstall,       // a rebuilt node is published without release
    kChainUnsaid,          // a base key's first change leaves its bit unset
    kCarriedUnsaid,        // the same for a change that is carried into a rebuilt leaf
    kFoldUnderCarried,     // fold moves the base below versions that are still in flight
    kFoldIgnoresReaders,   // fold takes any committed version, whatever minReadTs says
    kTrimTakesKeeper,      // trim also takes the version that the oldest reader stops at
    kTakeAbortedLinks,     // a folded chain's aborted versions lose their links
    kNoMoveRight,          // a descent trusts the parent and ignores the high fence
    kResolveOnce,          // resolve does not read the stamp again after the entry
    kHelperSkipsClock,     // a late helper does not look at the clock before it completes
    kClaimBeforeComplete,  // a claimant leaves its timestamp to others to complete
    kRecycleBeforeStamps,  // an entry is reused before its stamps are final
    kRelaxedCommitting,    // ACTIVE -> COMMITTING is stored without release
    kRelaxedSuspend,       // a write set is suspended without release
    kRelaxedLetGo,         // the snapshot kept for ended writes is given up without release
    kResumedAnyway,        // an owner goes on although its write set was ended
    kEndsActive,           // a write set is ended although its owner is using it
    kMarkOnlyBefore,       // a writer marks the page before it links its version, not again
    kMarkOnlyAfter,        // a writer marks the page only after it has linked its version
    kForgetOrigin,         // a new page's first image does not make its origin's image due
    kNoUnwrittenFirst,     // an image may name a page that has none
    kOwedNotDue,           // a page named before it had an image gets no mark of its own
    kSettleBeforeWritten,  // a page's mark is cleared before its image is written
    kScanLowLate,          // the checkpoint reads commitLow() after its scan
    kNoInFlightMark,       // a scan that met an undecided version leaves no mark
    kTailAfterFloors,      // commitLow() reads the journal's tail last
    kNoFloor,              // a committer publishes no floor before it appends
    kFloorEndsEarly,       // a committer withdraws its floor before its commit is complete
    kNotedLate,            // a commit's time is noted after its floor was withdrawn
    kSearchesAtOnce,       // a snapshot of the log does not wait for commits under way
    kLateForgotten,        // it has no commits beyond the first one that does not belong to it
    kNotedInLaterLap,      // a committer overtaken by a lap writes over a later commit's note
    kRedoLowAfterMarks,    // the redo position reads commitLow() after the marks
    kEvictMarked,          // eviction does not look at the page's mark
    kEvictUnfrozen,        // eviction does not freeze the leaf
    kEvictOrigin,          // eviction takes a leaf whose right half has no image
    kTargetNotDue,         // a page that takes over another one's keys is not marked due
    kLeavingUnfrozen,      // a leaf is copied for removal without being frozen
    kGoneBeforeMerged,     // a leaf is marked gone before its keys are in its right neighbour
    kTargetPosted,         // a page that is taking over keys is posted meanwhile
    kGonePosted,           // a page that is gone is posted again
    kLeftNotRebuilt,       // a removed leaf's left neighbour keeps its link to it
    kGoneFreedAtOnce,      // entries of gone pages are freed while slices are open
    kHintOfFreed,          // a hint is used although pages have been freed since
    kResidentLost,         // the new residents are read first and their list emptied later
    kRelaxedResident,      // a page is added to the residents without release
    kResidentLate,         // a page is added to the residents only once its leaf is back
    kLiveEarly,            // a new page is live before it is added to the residents
    kRedoGoesBack,         // a redo position may be lower than the one before
    kBringBackWhole,       // a leaf comes back with keys of its image beyond its fences
    kRedoTooHigh,          // the redo position ignores the pages' marks
};

}  // namespace freshet::engine
