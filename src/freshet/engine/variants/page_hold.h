// SPDX-License-Identifier: Apache-2.0
/// What a thread does before it may look at a page: nothing, because its slice is enough
/// (epoch_hold.h). Two other ways exist for the benchmark, each in a program of its own (LAYERS:
/// `rebuilt`, decision 0019): hazard pointers (hazard_hold.h) and latches (latch_hold.h). The three
/// headers define the same names; this is the only place that chooses between them:
///
///   kPageAccess       which of them it is
///   PageLatch         what each page has for it
///   PageUse           what a descent is made for: kToRead or kToChange
///   PageHold          where a descent is: on one page after the other
///   PageGlance        a look at a page that ends with this object
///   holdAllPages()    from here to the slice's end, nothing that can be reached is freed
///   retirePage()      frees a page's node, when no thread can be on it any more
#pragma once

#if defined(FRESHET_HAZARDS)
#include "freshet/engine/variants/hazard_hold.h"
#elif defined(FRESHET_LATCHES)
#include "freshet/engine/variants/latch_hold.h"
#else
#include "freshet/engine/variants/epoch_hold.h"
#endif
