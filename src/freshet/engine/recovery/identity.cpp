// SPDX-License-Identifier: Apache-2.0
#include "freshet/engine/recovery/identity.h"

#include "freshet/base/bytes.h"
#include "freshet/base/checksum.h"
#include "freshet/block/block_file.h"
#include "freshet/engine/recovery/identity_format.h"
#include "freshet/platform/thread.h"

#include <algorithm>

namespace freshet::engine {
namespace {

StatusOr<DbUuid> parse(const std::string& path, const std::string& bytes) {
    if (bytes.size() != kIdentityBytes ||
        ByteView(bytes).substr(0, kIdentityMagicBytes) != kIdentityMagic) {
        return Status(Code::kCorruption, path + " is damaged or was not made by this server");
    }
    // First the checksum, whose place is the same in every version: damage must not look like a
    // newer format.
    if (crc32c(bytes.data(), kIdentityCrcOffset) !=
        loadLe<uint32_t>(bytes.data() + kIdentityCrcOffset)) {
        return Status(Code::kCorruption, path + " is damaged or was not made by this server");
    }
    const auto version = loadLe<uint32_t>(bytes.data() + kIdentityVersionOffset);
    if (version != kIdentityVersion) {
        return Status(Code::kUnsupported,
                      path + " is of format version " + std::to_string(version) +
                          ", this server reads " + std::to_string(kIdentityVersion));
    }
    DbUuid uuid;
    std::copy_n(bytes.data() + kIdentityUuidOffset, uuid.size(), uuid.data());
    return uuid;
}

DbUuid makeUuid() {
    DbUuid uuid;
    storeLe(uuid.data(), platform::randomSeed());
    storeLe(uuid.data() + 8, platform::randomSeed());
    // RFC 4122: version 4 (random), variant 1.
    uuid[6] = static_cast<char>((uuid[6] & 0x0f) | 0x40);
    uuid[8] = static_cast<char>((uuid[8] & 0x3f) | 0x80);
    return uuid;
}

std::string parentOf(const std::string& directory) {
    const size_t end = directory.find_last_not_of('/');
    const size_t slash = directory.rfind('/', end);
    return slash == std::string::npos || end == std::string::npos ? "."
           : slash == 0                                           ? "/"
                                                                  : directory.substr(0, slash);
}

/// Writes the file whole or not at all, and makes the directory itself durable as well.
Status write(platform::FileSystem& files,
             const std::string& directory,
             const std::string& path,
             const DbUuid& uuid) {
    std::string bytes(kIdentityBytes, '\0');
    std::copy_n(kIdentityMagic, kIdentityMagicBytes, bytes.data());
    storeLe(bytes.data() + kIdentityVersionOffset, kIdentityVersion);
    std::copy(uuid.begin(), uuid.end(), bytes.data() + kIdentityUuidOffset);
    storeLe(bytes.data() + kIdentityCrcOffset, crc32c(bytes.data(), kIdentityCrcOffset));
    const std::string fresh = path + ".new";
    FRESHET_ASSIGN_OR_RETURN(auto file, files.open(fresh, platform::OpenMode::kCreate));
    FRESHET_RETURN_IF_ERROR(file->truncate(0));
    FRESHET_RETURN_IF_ERROR(file->pwrite(bytes, 0));
    FRESHET_RETURN_IF_ERROR(file->sync());
    FRESHET_RETURN_IF_ERROR(files.rename(fresh, path));
    FRESHET_RETURN_IF_ERROR(files.syncDirectory(directory));
    return files.syncDirectory(parentOf(directory));
}

}  // namespace

StatusOr<DbUuid> readOrMakeIdentity(platform::FileSystem& files, const std::string& directory) {
    const std::string path = directory + "/" + kIdentityFile;
    auto file = files.open(path, platform::OpenMode::kRead);
    if (file.isOk()) {
        std::string bytes(kIdentityBytes + 1, '\0');
        FRESHET_ASSIGN_OR_RETURN(size_t got, (*file)->pread(bytes.data(), bytes.size(), 0));
        bytes.resize(got);
        return parse(path, bytes);
    }
    if (file.status().code() != Code::kNotFound) {
        return std::move(file).status();
    }
    // The identity was durable before there was any data.
    auto data = files.open(directory + kDataFile, platform::OpenMode::kRead);
    if (data.isOk()) {
        return Status(Code::kCorruption, path + " is missing, although there is a data file");
    }
    if (data.status().code() != Code::kNotFound) {
        return std::move(data).status();
    }
    const DbUuid uuid = makeUuid();
    FRESHET_RETURN_IF_ERROR(write(files, directory, path, uuid));
    return uuid;
}

StatusOr<DbUuid> repairIdentity(platform::FileSystem& files,
                                const std::string& directory,
                                std::vector<std::string>* losses) {
    StatusOr<DbUuid> known = readOrMakeIdentity(files, directory);
    if (known.isOk() || known.status().code() != Code::kCorruption) {
        return known;
    }
    FRESHET_ASSIGN_OR_RETURN(const DbUuid uuid,
                             block::BlockFile::readUuid(files, directory + kDataFile));
    FRESHET_RETURN_IF_ERROR(write(files, directory, directory + "/" + kIdentityFile, uuid));
    losses->push_back(std::string(known.status().text()) + "; it was restored from the data file");
    return uuid;
}

}  // namespace freshet::engine
