// SPDX-License-Identifier: Apache-2.0
/// Shared by the tests of this room: making and reading images, a model that remembers the content
/// of every checkpoint, and a disk with a quota. Tests only.
#pragma once

#include "freshet/block/block_file.h"
#include "freshet/testing/sim/memory_file_system.h"

#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

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

/// Opens the file as when the log agrees.
inline StatusOr<std::unique_ptr<BlockFile>> openAndStart(const Options& options) {
    FRESHET_ASSIGN_OR_RETURN(std::unique_ptr<BlockFile> file, BlockFile::open(options));
    FRESHET_RETURN_IF_ERROR(file->start());
    return file;
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

/// Reads a file's bytes, and writes them to another disk.
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

/// All pages of the newest checkpoint, read back; or the first failure.
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

/// The page's place in the newest checkpoint; blocks == 0: it has none.
inline PagePlace placeOf(const BlockFile& file, PageId wanted) {
    PagePlace found;
    const Status status = file.forEachPage([&](PageId page, const PagePlace& place) {
        found = page == wanted ? place : found;
        return Status::ok();
    });
    invariant(status.isOk());
    return found;
}

/// Uses a block file as an engine does, at random, and remembers the content of each checkpoint.
class ModelUser {
public:
    explicit ModelUser(uint64_t seed) : random_(seed) {}

    /// Attaches to a file that was just opened: it must hold a checkpoint that this user made, not
    /// older than the last acknowledged one. Returns empty, or a description of the fault.
    std::string attach(BlockFile* file) {
        file_ = file;
        pending_.clear();
        std::string wrong = judge(*file, acknowledged_);
        if (!wrong.empty()) {
            return wrong;
        }
        if (file->startNo() <= lastStartNo_) {
            return "startNo fell to " + std::to_string(file->startNo());
        }
        lastStartNo_ = file->startNo();
        acknowledged_ = serialOf(*file);
        history_.resize(acknowledged_ + 1);
        return "";
    }

    /// Empty when the file holds the content of the checkpoint attempt numbered `least` or of a
    /// later one; else what is wrong.
    std::string judge(const BlockFile& file, uint64_t least) const {
        const uint64_t serial = serialOf(file);
        const std::string name = "attempt " + std::to_string(serial);
        if (serial < least || serial >= history_.size()) {
            return name + " came back, acknowledged was " + std::to_string(least);
        }
        const Attempt& attempt = history_[serial];
        if (attempt.checkpointNo != file.root().checkpointNo) {
            return name + " came back as checkpoint " + std::to_string(file.root().checkpointNo);
        }
        auto found = readContents(file);
        if (!found.isOk()) {
            return found.status().toString();
        }
        if (*found != attempt.contents) {
            return name + " is not what it was";
        }
        const Status notes = file.forEachPage([&](PageId page, const PagePlace& place) {
            const bool same = place.note == noteOf((*found)[page]);
            return same ? Status::ok() : Status(Code::kCorruption, "another note");
        });
        return notes.isOk() ? "" : "the notes of " + name + " are not what they were";
    }

    /// One random call. Any status but ok comes from the file.
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

    /// A checkpoint that is not settled: the previous one may still be chosen.
    Status commit() {
        Contents after = committed();
        std::vector<BlockFile::Change> changes;
        for (const auto& [page, image] : pending_) {
            changes.push_back({page, image ? image->place : PagePlace{}});
            if (image) {
                after[page] = image->body;
            } else {
                after.erase(page);
            }
        }
        Root root;
        root.redoLsn = history_.size();  // identifies the attempt
        history_.push_back({file_->root().checkpointNo + 1, std::move(after)});
        FRESHET_RETURN_IF_ERROR(file_->commit(root, changes));
        acknowledged_ = root.redoLsn;
        pending_.clear();
        return Status::ok();
    }

    const Contents& committed() const { return history_[acknowledged_].contents; }
    /// The number of the last successful attempt at a checkpoint.
    uint64_t acknowledged() const { return acknowledged_; }
    unsigned pick(unsigned below) {
        return std::uniform_int_distribution<unsigned>(0, below - 1)(random_);
    }

private:
    struct Image {
        PagePlace place;
        std::string body;
    };

    /// A checkpoint attempt; of several with one checkpointNo all but the last failed.
    struct Attempt {
        uint64_t checkpointNo = 0;
        Contents contents;
    };

    static uint64_t serialOf(const BlockFile& file) { return file.root().redoLsn; }
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
    std::vector<Attempt> history_{Attempt()};         // the first: a new file
    uint64_t acknowledged_ = 0;                       // index in it
    uint32_t lastStartNo_ = 0;
};

}  // namespace freshet::block
