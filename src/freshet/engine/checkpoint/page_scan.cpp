// SPDX-License-Identifier: Apache-2.0
#include "freshet/engine/checkpoint/page_scan.h"

#include "freshet/engine/node/leaf_merge.h"
#include "freshet/engine/page/leaf_note.h"
#include "freshet/engine/page/page_image.h"

#include <utility>

namespace freshet::engine {

using sync::kAcquire;
using sync::kRelaxed;

namespace {

class Scanner {
public:
    Scanner(TreeEnv& env, const PageTree& tree, PageEntry* entry, std::string memory)
        : env_(env), tree_(tree) {
        result.entry = entry;
        result.image = std::move(memory);
    }

    void scan(const Node& node) {
        PageHead head;
        head.page = result.entry->id;
        head.tree = tree_.id();
        head.level = node.level;
        head.low = node.low;
        head.high = node.high;
        head.prefix = node.prefix();
        head.right = name(node.right);
        if (node.isLeaf()) {
            scanLeaf(head, static_cast<const LeafNode&>(node));
        } else {
            scanInner(head, static_cast<const InnerNode&>(node));
        }
    }

    PageScan result;
    bool metUndecided = false;

private:
    PageId name(PageEntry* entry) {
        if (entry == nullptr) {
            return 0;
        }
        if (!entry->imaged) {
            result.unwritten.push_back(entry);
        }
        return entry->id;
    }

    void scanInner(PageHead head, const InnerNode& node) {
        head.kind = block::PageKind::kInner;
        head.firstChild = name(node.child[0]);
        PageImageWriter writer(head);
        for (uint32_t i = 0; i < node.separators.size(); ++i) {
            writer.addChild(node.separators.tail(i), name(node.child[i + 1]));
        }
        result.image = writer.take(std::move(result.image));
    }

    void scanLeaf(PageHead head, const LeafNode& leaf) {
        head.kind = block::PageKind::kLeafBytes;
        LeafNote note{.fences = fencesOf(head.tree, head.low, head.high)};
        PageImageWriter writer(head);
        mergeUp(
            leaf, nullptr, [&](ByteView tail, const std::optional<ValueRef>& base, auto* chain) {
                if (std::optional<ValueRef> value =
                        chain == nullptr ? base : newest(*chain, base)) {
                    add(writer, tail, *value);
                    ++note.entries;
                    note.hasLargeValues |= value->bytes.size() >= kLargeValueBytesMin;
                }
                return true;
            });
        result.note = writeNote(note);
        result.image = writer.take(std::move(result.image));
    }

    std::optional<ValueRef> newest(const DeltaKey::Link& chain,
                                   const std::optional<ValueRef>& base) {
        // [version.read], [older.read] acquire: pair with [version.push]. The walk ends at a
        // committed version, so it never follows a link that was taken.
        for (auto* version = pointerOf<Version>(chain.load(kAcquire)); version != nullptr;
             version = version->older.load(kAcquire)) {
            const Outcome outcome = env_.txns.resolve(version->stamp);
            if (outcome.fate == Fate::kCommitted) {
                return version->isDelete() ? std::nullopt
                                           : std::optional<ValueRef>(version->value());
            }
            metUndecided |= outcome.fate == Fate::kInFlight;
        }
        return base;
    }

    void add(PageImageWriter& writer, ByteView tail, const ValueRef& value) {
        if (value.bytes.size() < kLargeValueBytesMin) {
            writer.addValue(tail, value.bytes);
            return;
        }
        PageId page = value.shared->page();
        if (page == 0) {
            // [page.number] relaxed: see TreeEnv::nextPageId.
            page = env_.nextPageId.fetch_add(1, kRelaxed);
            value.shared->hold();
            result.largeValues.push_back({value.shared, page});
        }
        writer.addLargeValue(tail, page, value.bytes.size());
    }

    TreeEnv& env_;
    const PageTree& tree_;
};

}  // namespace

PageScan scanPage(TreeEnv& env, PageTree& tree, PageEntry* entry, std::string memory) {
    // Before the scan: a commit that is complete by now is in what the scan finds; every other one
    // has an LSN >= low.
    uint64_t low = mutated(Mutant::kScanLowLate) ? 0 : env.commitLow();
    tree.images().takeMark(entry);
    // Dekker with writers: a version linked after the scan has passed is marked anew
    // (TreeCore::write).
    sync::heavyFence();
    Scanner scanner(env, tree, entry, std::move(memory));
    scanner.scan(*nodeOf(*entry));
    if (mutated(Mutant::kScanLowLate)) {
        low = env.commitLow();
    }
    if (scanner.metUndecided && !mutated(Mutant::kNoInFlightMark)) {
        tree.images().lowerMark(entry, low);
    }
    return std::move(scanner.result);
}

}  // namespace freshet::engine
