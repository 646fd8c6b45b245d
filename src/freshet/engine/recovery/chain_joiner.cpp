// SPDX-License-Identifier: Apache-2.0
#include "freshet/engine/recovery/chain_joiner.h"

#include <utility>

namespace freshet::engine {

StatusOr<bool> ChainJoiner::add(journal::Lsn lsn,
                                const CommitChain& chain,
                                ByteView body,
                                std::vector<std::string>* earlier) {
    if (chain.number == 0) {
        chains_[lsn] = {std::string(body)};
        return false;
    }
    if (chain.first < redoLsn_) {
        return false;
    }
    const auto found = chains_.find(chain.first);
    if (found == chains_.end() || found->second.size() != chain.number) {
        return Status(Code::kCorruption,
                      "record " + std::to_string(chain.number) + " of a chain that began at LSN " +
                          std::to_string(chain.first) + " lacks one before it");
    }
    if (!chain.isLast) {
        found->second.emplace_back(body);
        return false;
    }
    *earlier = std::move(found->second);
    chains_.erase(found);
    return true;
}

}  // namespace freshet::engine
