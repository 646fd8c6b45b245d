// SPDX-License-Identifier: Apache-2.0
#include "freshet/engine/recovery/repair_mark.h"

#include <algorithm>

namespace freshet::engine {
namespace {

constexpr char kFile[] = "repair.unfinished";

}  // namespace

StatusOr<bool> hasRepairMark(platform::FileSystem& files, const std::string& directory) {
    FRESHET_ASSIGN_OR_RETURN(const std::vector<std::string> names, files.list(directory));
    return std::find(names.begin(), names.end(), kFile) != names.end();
}

Status setRepairMark(platform::FileSystem& files, const std::string& directory) {
    // The name is all it says.
    FRESHET_RETURN_IF_ERROR(
        files.open(directory + "/" + kFile, platform::OpenMode::kCreate).status());
    return files.syncDirectory(directory);
}

Status removeRepairMark(platform::FileSystem& files, const std::string& directory) {
    FRESHET_RETURN_IF_ERROR(files.remove(directory + "/" + kFile));
    return files.syncDirectory(directory);
}

}  // namespace freshet::engine
