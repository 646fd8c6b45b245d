// SPDX-License-Identifier: Apache-2.0
/// Checks the files behind a running store: every page of the newest checkpoint, and that each tree
/// can be built from its pages. For that, one tree at a time is built a second time.
#include "freshet/engine/recovery/map_source.h"
#include "freshet/engine/store/store_impl.h"
#include "freshet/engine/tree/tree_check.h"

namespace freshet::engine {

StatusOr<FilesReport> Store::Impl::verify() {
    FRESHET_ASSIGN_OR_RETURN(const block::VerifyReport pages, file->verify());
    FilesReport report{pages.pages, pages.bytes, pages.errors};
    MapSource source(*file, Leaves::kKept, &report.errors);
    if (Status read = source.readMap(); read.code() == Code::kCorruption) {
        // Reported above already, unless it happened in between. No tree can be built without the
        // map.
        report.errors.emplace_back(read.text());
        return report;
    } else if (!read.isOk()) {
        return read;
    }
    for (TreeId id : source.trees()) {
        auto scratch = std::make_shared<StoreCore>();
        // [page.number] relaxed: no other thread uses the scratch store.
        scratch->nextPageId.store(source.highestPage() + 1, sync::kRelaxed);
        PageTree tree(scratch.get(), id);
        Status status = TreeLoader(*scratch, tree, source).buildTree();
        if (status.code() == Code::kCorruption) {
            report.errors.emplace_back(status.text());
            continue;
        }
        FRESHET_RETURN_IF_ERROR(status);
        sync::Slice slice(scratch->epochs);
        if (const TreeShape shape = checkTree(tree); !shape.error.empty()) {
            report.errors.push_back("tree " + std::to_string(id) + ": " + shape.error);
        }
    }
    return report;
}

}  // namespace freshet::engine
