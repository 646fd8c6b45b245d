// SPDX-License-Identifier: Apache-2.0
#include "freshet/engine/loss.h"

#include <charconv>

namespace freshet::engine {
namespace {

constexpr size_t kBytesShown = 64;  // of a key
constexpr std::string_view kTree = "; tree ";
constexpr std::string_view kRange = " had the keys from ";
constexpr std::string_view kTo = " to ";
constexpr std::string_view kOne = " had the value of key ";

std::string hexOf(ByteView key) {
    return "x'" + toHex(key.substr(0, kBytesShown)) + "'";
}

bool take(std::string_view* text, std::string_view word) {
    const bool isThere = text->starts_with(word);
    text->remove_prefix(isThere ? word.size() : 0);
    return isThere;
}

/// The bytes of x'0a1b' at the beginning.
bool takeHex(std::string_view* text, std::string* bytes) {
    if (!take(text, "x'")) {
        return false;
    }
    while (text->size() >= 2 && (*text)[0] != '\'') {
        uint8_t byte = 0;
        if (std::from_chars(text->data(), text->data() + 2, byte, 16).ptr != text->data() + 2) {
            return false;
        }
        bytes->push_back(static_cast<char>(byte));
        text->remove_prefix(2);
    }
    return take(text, "'");
}

}  // namespace

std::string textOf(const TreeLoss& loss) {
    const std::string tree = "tree " + std::to_string(loss.tree);
    return loss.isOneKey ? tree + std::string(kOne) + hexOf(loss.low) + " there"
                         : tree + std::string(kRange) + hexOf(loss.low) + std::string(kTo) +
                               hexOf(loss.high) + " there";
}

std::optional<TreeLoss> treeLossIn(std::string_view line) {
    const size_t at = line.rfind(kTree);
    if (at == std::string_view::npos) {
        return std::nullopt;
    }
    std::string_view rest = line.substr(at + kTree.size());
    TreeLoss loss;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), loss.tree);
    if (error != std::errc()) {
        return std::nullopt;
    }
    rest.remove_prefix(static_cast<size_t>(end - rest.data()));
    loss.isOneKey = take(&rest, kOne);
    if (!loss.isOneKey && !take(&rest, kRange)) {
        return std::nullopt;
    }
    if (!takeHex(&rest, &loss.low) ||
        (!loss.isOneKey && (!take(&rest, kTo) || !takeHex(&rest, &loss.high)))) {
        return std::nullopt;
    }
    loss.isCut = loss.low.size() >= kBytesShown || loss.high.size() >= kBytesShown;
    return loss;
}

}  // namespace freshet::engine
