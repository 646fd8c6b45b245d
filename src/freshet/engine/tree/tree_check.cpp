// SPDX-License-Identifier: Apache-2.0
#include "freshet/engine/tree/tree_check.h"

#include "freshet/engine/node/leaf_merge.h"
#include "freshet/engine/tree/page_tree.h"

#include <map>
#include <optional>

namespace freshet::engine {
namespace {

class TreeCheck {
public:
    static TreeShape run(const PageTree& tree) {
        TreeCheck check;
        const PageEntry* first = &tree.root();
        while (first != nullptr && check.shape_.error.empty()) {
            first = check.level(first);
        }
        return check.shape_;
    }

private:
    /// Checks a level along its right links; returns the leftmost page of the one below.
    const PageEntry* level(const PageEntry* first) {
        ++shape_.levels;
        std::string expectedLow;
        const PageEntry* below = nullptr;
        std::map<std::string, const PageEntry*> children;
        const int levelNumber = nodeOf(*first)->level;
        for (const PageEntry* entry = first; entry != nullptr;) {
            const Node* node = nodeOf(*entry);
            expect(node->level == levelNumber, "one level has one number");
            expect(node->low == expectedLow, "a page begins where its left neighbour ends");
            expect(node->high.empty() || node->low < node->high, "fences are in order");
            expect(node->high.empty() == (node->right == nullptr), "only the last page is open");
            if (!posted_.empty()) {
                auto it = posted_.find(node->low.string());
                shape_.unposted += it == posted_.end() ? 1 : 0;
                expect(it == posted_.end() || it->second == entry, "a child is where it begins");
            }
            if (node->isLeaf()) {
                leaf(static_cast<const LeafNode*>(node));
            } else if (node->isOnDisk) {
                ++shape_.leaves;
                ++shape_.onDisk;
            } else {
                auto* inner = static_cast<const InnerNode*>(node);
                below = below == nullptr ? inner->child.front() : below;
                inside(inner, &children);
            }
            expectedLow = node->high.string();
            entry = node->right;
        }
        posted_ = std::move(children);
        return below;
    }

    void inside(const InnerNode* node, std::map<std::string, const PageEntry*>* children) {
        ++shape_.inners;
        expect(node->child.size() == node->separators.size() + 1, "children enclose separators");
        (*children)[node->low.string()] = node->child.front();
        std::string before = node->low.string();
        for (uint32_t i = 0; i < node->separators.size(); ++i) {
            std::string key = node->separator(i);
            expect(before < key && !node->isLeftOf(key), "separators are in order");
            (*children)[key] = node->child[i + 1];
            before = std::move(key);
        }
    }

    void leaf(const LeafNode* node) {
        ++shape_.leaves;
        std::optional<std::string> before;
        auto visit = [&](ByteView tail, const std::optional<ValueRef>& base, auto* chain) {
            std::string full = std::string(node->prefix()).append(tail);
            expect(full >= node->low && !node->isLeftOf(full), "a key lies within the fences");
            expect(!before || *before < full, "keys are in order, each once");
            expect(base.has_value() || chain != nullptr, "a key has a value or a chain");
            before = std::move(full);
            ++shape_.keys;
            shape_.changed += chain != nullptr ? 1 : 0;
            return true;
        };
        mergeUp(*node, nullptr, visit);
        const size_t upward = shape_.keys;
        size_t downward = 0;
        mergeDown(*node, nullptr, [&](ByteView, const std::optional<ValueRef>&, auto*) {
            ++downward;
            return true;
        });
        expect(upward - keysBefore_ == downward, "both directions meet the same keys");
        keysBefore_ = shape_.keys;
    }

    void expect(bool condition, const char* what) {
        if (!condition && shape_.error.empty()) {
            shape_.error = what;
        }
    }

    TreeShape shape_;
    std::map<std::string, const PageEntry*> posted_;  // children named by the level above
    size_t keysBefore_ = 0;
};

}  // namespace

TreeShape checkTree(const PageTree& tree) {
    return TreeCheck::run(tree);
}

}  // namespace freshet::engine
