// SPDX-License-Identifier: Apache-2.0
#include "freshet/engine/recovery/directory_mark.h"

#include <algorithm>

namespace freshet::engine {

StatusOr<bool> hasMark(platform::FileSystem& files,
                       const std::string& directory,
                       const char* mark) {
    FRESHET_ASSIGN_OR_RETURN(const std::vector<std::string> names, files.list(directory));
    return std::find(names.begin(), names.end(), mark) != names.end();
}

Status setMark(platform::FileSystem& files, const std::string& directory, const char* mark) {
    // The file is empty: only its name matters.
    FRESHET_RETURN_IF_ERROR(
        files.open(directory + "/" + mark, platform::OpenMode::kCreate).status());
    return files.syncDirectory(directory);
}

Status removeMark(platform::FileSystem& files, const std::string& directory, const char* mark) {
    FRESHET_RETURN_IF_ERROR(files.remove(directory + "/" + mark));
    return files.syncDirectory(directory);
}

}  // namespace freshet::engine
