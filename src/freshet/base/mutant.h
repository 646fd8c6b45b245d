// SPDX-License-Identifier: Apache-2.0
/// Mutants: planted bugs that tests must find. A room lists its own in an `enum class Mutant` with
/// kNone as the first, and asks `mutated(Mutant::kX)` where the bug is. There are two ways to
/// switch one on:
///
///   - at run time, in the `explore` variant: a model check assigns to `activeMutant<Mutant>`
///     before its threads start;
///   - built in, by -DFRESHET_MUTANT=kX: into one source of a program that LAYERS calls a mutant,
///     or with `scons define=FRESHET_MUTANT=kX` into everything. A room without a mutant of that
///     name stays correct.
///
/// In all other code mutated() is a constant false.
#pragma once

namespace freshet {

#ifdef FRESHET_EXPLORE
template <typename Mutant>
inline Mutant activeMutant = Mutant::kNone;

template <typename Mutant>
bool mutated(Mutant mutant) {
    return activeMutant<Mutant> == mutant;
}
#else
// consteval leaves no function behind. An inline one would be different in the source with the bug,
// and the linker would take one of the two for the whole program.
template <typename Mutant>
consteval bool mutated([[maybe_unused]] Mutant mutant) {
#ifdef FRESHET_MUTANT
    if constexpr (requires { Mutant::FRESHET_MUTANT; }) {
        return mutant == Mutant::FRESHET_MUTANT;
    }
#endif
    return false;
}
#endif

}  // namespace freshet
