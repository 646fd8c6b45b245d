// SPDX-License-Identifier: Apache-2.0
/// What the tests of this room share: images made and read back, a model that knows what every
/// checkpoint held, and a disk with a quota. Tests only.
#pragma once

#include "freshet/block/block_file.h"
#include "freshet/testing/sim/memory_file_system.h"

#include <map>
#include <optional>
#include <random>
#include <string>

namespace freshet::block {

inline constexpr char kTestDirectory[] = "/db";
inline constexpr char kTestPath[] = "/db/data.freshet";

inline Options testOptions(platform::FileSystem* files) {
    Options options;
    options.files = files;
    options.path = kTestPath;
    options.dbUuid = {'a', ' ', 't', 'e', 's', 't', '\'', 's'};
    options.growBytesMin = 64u << 10;
    options.growBytesMax = 256u << 10;
    return options;
}

inline std::string imageOf(PageId page, ByteView body) {
    PageHeader header;
    header.pageId = page;
    std::string image(reinterpret_cast<const char*>(&header), sizeof(header));
    return image.append(body);
}

inline std::string bodyOf(const std::string& image) {
    return image.substr(sizeof(PageHeader));
}

/// A file's bytes as a reader sees them, and back onto a disk of its own.
inline std::string readWhole(platform::FileSystem& files) {
    auto file = files.open(kTestPath, platform::OpenMode::kRead);
    invariant(file.isOk());
    std::string bytes(*(*file)->size(), '\0');
    invariant((*file)->pread(bytes.data(), bytes.size(), 0).isOk());
    return bytes;
}

inline void writeWhole(platform::FileSystem& files, ByteView bytes) {
    invariant(files.makeDirectory(kTestDirectory).isOk());
    auto file = files.open(kTestPath, platform::OpenMode::kCreate);
    invariant(file.isOk() && (*file)->truncate(0).isOk());
    invariant((*file)->pwrite(bytes, 0).isOk() && (*file)->sync().isOk());
}

using Contents = std::map<PageId, std::string>;  // page -> body

/// All pages of the newest checkpoint, read back; the first failure instead, if there is one.
inline StatusOr<Contents> readContents(const BlockFile& file) {
    Contents contents;
    FRESHET_RETURN_IF_ERROR(file.forEachPage([&](PageId page, const PagePlace& place) -> Status {
        std::string image;
        FRESHET_RETURN_IF_ERROR(file.readPage(page, place, &image));
        contents[page] = bodyOf(image);
        return Status::ok();
    }));
    return contents;
}

/// Uses a block file as an engine does, at random, and remembers what each checkpoint held.
class ModelUser {
public:
    explicit ModelUser(uint64_t seed) : random_(seed) {}

    /// Attaches to a file that was just opened: what it holds must be a checkpoint this user made,
    /// not older than the last that was acknowledged. Empty, or what is wrong.
    std::string attach(BlockFile* file) {
        file_ = file;
        pending_.clear();
        const uint64_t no = file->root().checkpointNo;
        if (no < acknowledged_ || no > attempted_) {
            return "checkpoint " + std::to_string(no) + " came back, acknowledged was " +
                   std::to_string(acknowledged_);
        }
        if (file->startNo() <= lastStartNo_) {
            return "startNo fell to " + std::to_string(file->startNo());
        }
        lastStartNo_ = file->startNo();
        auto found = readContents(*file);
        if (!found.isOk()) {
            return found.status().toString();
        }
        if (*found != history_[no]) {
            return "checkpoint " + std::to_string(no) + " is not what it was";
        }
        if (!file->forEachPage([&](PageId page, const PagePlace& place) {
                     const bool same = place.note == noteOf((*found)[page]);
                     return same ? Status::ok() : Status(Code::kCorruption, "another note");
                 })
                 .isOk()) {
            return "the notes of checkpoint " + std::to_string(no) + " are not what they were";
        }
        if (file->root().redoLsn != no * 10) {
            return "the root of checkpoint " + std::to_string(no) + " is another's";
        }
        acknowledged_ = attempted_ = no;
        return "";
    }

    /// One random call. Anything but ok is the file's answer.
    Status step() {
        const unsigned dice = pick(100);
        if (dice < 70) {
            return write(1 + pick(40));
        }
        if (dice < 80) {
            return remove(1 + pick(40));
        }
        return dice < 85 ? file_->flush() : checkpoint();
    }

    Status write(PageId page) {
        std::string body(1 + pick(3 * kBlockBytes), static_cast<char>('a' + pick(26)));
        std::string image = imageOf(page, body);
        const auto codec = static_cast<Codec>(pick(3));
        FRESHET_ASSIGN_OR_RETURN(const PagePlace place,
                                 file_->writePage(image, codec, noteOf(body)));
        forget(page);
        pending_[page] = {place, std::move(body)};
        return Status::ok();
    }

    Status remove(PageId page) {
        forget(page);
        pending_[page] = std::nullopt;
        return Status::ok();
    }

    Status checkpoint() {
        FRESHET_RETURN_IF_ERROR(commit());
        if (pick(4) != 0) {
            file_->settle();
        }
        return Status::ok();
    }

    /// A checkpoint that is not settled: the one before may be chosen yet.
    Status commit() {
        Contents after = history_[acknowledged_];
        std::vector<BlockFile::Change> changes;
        for (const auto& [page, image] : pending_) {
            changes.push_back({page, image ? image->place : PagePlace{}});
            if (image) {
                after[page] = image->body;
            } else {
                after.erase(page);
            }
        }
        attempted_ = acknowledged_ + 1;
        history_[attempted_] = std::move(after);
        Root root;
        root.redoLsn = attempted_ * 10;
        FRESHET_RETURN_IF_ERROR(file_->commit(root, changes));
        acknowledged_ = attempted_;
        pending_.clear();
        return Status::ok();
    }

    const Contents& committed() { return history_[acknowledged_]; }
    uint64_t acknowledged() const { return acknowledged_; }
    unsigned pick(unsigned below) {
        return std::uniform_int_distribution<unsigned>(0, below - 1)(random_);
    }

private:
    struct Image {
        PagePlace place;
        std::string body;
    };

    static uint64_t noteOf(const std::string& body) {
        return body.size() << 32 | static_cast<unsigned char>(body[0]);
    }

    void forget(PageId page) {
        if (auto found = pending_.find(page); found != pending_.end() && found->second) {
            file_->discard(found->second->place);
        }
        pending_.erase(page);
    }

    std::mt19937_64 random_;
    BlockFile* file_ = nullptr;
    std::map<PageId, std::optional<Image>> pending_;  // empty: to be removed
    std::map<uint64_t, Contents> history_;            // by checkpoint
    uint64_t acknowledged_ = 0;
    uint64_t attempted_ = 0;
    uint32_t lastStartNo_ = 0;
};

}  // namespace freshet::block
