// SPDX-License-Identifier: Apache-2.0
/// The versions of one key, newest first: what a snapshot sees of them, and adding and taking away
/// versions.
///
///   INV-engine-4  versions belong to their chain, not to a node. No thread walks below a committed
///                 version with ts <= minReadTs; that version leaves only with its whole chain,
///                 when the new base holds it. Every link is taken by one exchange, every chain
///                 head by the one installing CAS, so nothing is retired twice.
#pragma once

#include "freshet/engine/commits/txn_table.h"
#include "freshet/engine/delta/leaf_delta.h"
#include "freshet/engine/tree/tree_calls.h"
#include "freshet/engine/tree/tree_env.h"
#include "freshet/engine/value/version.h"

#include <cstdint>
#include <optional>

namespace freshet::engine {

/// A chain's newest version that is not aborted, or null, and what has become of it.
struct Newest {
    Version* version;
    Outcome outcome;
};
Newest newestOf(const TxnTable& txns, Version* chain);

/// What the view sees of a key that has this chain, and `base` in its leaf's base.
std::optional<ValueRef> visible(const TxnTable& txns,
                                const Version* chain,
                                const View& view,
                                const std::optional<ValueRef>& base);

/// Makes `fresh` the head of the chain, in front of `newest`. False: the chain has changed since
/// `seen` was read from it.
bool pushVersion(
    TreeEnv& env, DeltaKey::Link* chain, uintptr_t seen, Version* fresh, Version* newest);

void retireVersion(TreeEnv& env, Version* version);
/// Takes over and retires `version`, which the caller has unlinked, and all below it. Returns how
/// many.
uint32_t retireVersionsFrom(TreeEnv& env, Version* version);

}  // namespace freshet::engine
