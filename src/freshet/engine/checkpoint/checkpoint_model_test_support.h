// SPDX-License-Identifier: Apache-2.0
/// For model checks of the checkpoint: a store of one tree, made of the real writers, scans,
/// evictions and loads, and what remains of it when the power fails.
#pragma once

#include "freshet/engine/cache/leaf_from_image.h"
#include "freshet/engine/checkpoint/sparse_hand.h"
#include "freshet/engine/checkpoint/tree_writer.h"
#include "freshet/engine/commits/commit_steps.h"
#include "freshet/engine/recovery/redo.h"
#include "freshet/engine/recovery/tree_loader.h"
#include "freshet/engine/tree/tree_check.h"
#include "freshet/engine/tree/tree_model_test_support.h"
#include "freshet/engine/txn/write_set.h"

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace freshet::engine {

inline constexpr TreeId kTree = 1;
inline constexpr TreeLimits kTinyPages{
    .leafBytesMax = 60, .joinedBytesMax = 0, .innerBytesMax = 60};

/// Some pages are written alone, others in pairs.
inline constexpr size_t kImagesAtOnce = 2;

/// Records in order; the position is one word, like the journal's slot.
struct ModelJournal {
    struct Record {
        std::string key;
        std::string value;  // empty: deleted
        enum class Part : uint8_t { kWhole, kFirst, kLast };
        Part part = Part::kWhole;  // of a chain of two records
        uint64_t first = 0;        // kLast: LSN of the other one
    };
    uint64_t tailLsn() const { return tail.load(sync::kAcquire); }
    /// Returns the LSN: index + 1.
    uint64_t append(Record record) {
        tail.fetch_add(1, sync::kAcqRel);
        records.push_back(std::move(record));
        return records.size();
    }
    sync::Atomic<uint64_t> tail{1};
    std::vector<Record> records;
};

class CheckpointEnv : public ModelEnv {
public:
    CheckpointEnv(TxnTable* table, const TreeLimits& limits) : ModelEnv(table, limits) {}
    uint64_t commitLow() override {
        return floors.commitLow([this] { return journal.tailLsn(); });
    }
    uint64_t minReadTs() override {
        if (const auto call = std::exchange(whenAsked, nullptr)) {
            call();
        }
        return ModelEnv::minReadTs();
    }
    ModelJournal journal;
    CommitFloors floors;
    CommitTimes times;
    /// Called when a thread next asks for the oldest snapshot.
    std::function<void()> whenAsked;
};

struct ModelImage {
    std::string bytes;
    uint64_t note = 0;
};
using Images = std::map<PageId, ModelImage>;

/// A recovered store is made of what was durable.
class Recovered : public PageSource {
public:
    Recovered(const Images& images, const ModelJournal& journal, uint64_t redo)
        : images_(images), env_(&table_, {}), tree_(&env_, kTree) {
        testing::Uninterrupted whole;
        if (images.count(kTree) != 0) {
            const Status status = TreeLoader(env_, tree_, *this).buildTree();
            testing::check(status.isOk(), "the images make a tree");
        }
        for (uint64_t lsn = redo; lsn <= journal.records.size(); ++lsn) {
            const ModelJournal::Record& record = journal.records[lsn - 1];
            if (record.part == ModelJournal::Record::Part::kWhole) {
                replay({&record});
            } else if (record.part == ModelJournal::Record::Part::kLast && record.first >= redo) {
                replay({&journal.records[record.first - 1], &record});
            }
        }
        ModelEnv::Slice slice(&env_);
        testing::check(checkTree(tree_).error.empty(), "a sound tree");
    }
    std::string get(ByteView key) {
        testing::Uninterrupted whole;
        ModelEnv::Slice slice(&env_);
        const std::optional<ValueRef> value = tree_.get(key, {slice.snapshot, 0});
        return value ? std::string(value->bytes) : "";
    }

private:
    /// The records of one commit.
    void replay(const std::vector<const ModelJournal::Record*>& records) {
        const uint64_t ts = table_.snapshot() + 1;
        for (const ModelJournal::Record* record : records) {
            const VersionOp op = record->value.empty() ? VersionOp::kDelete : VersionOp::kPut;
            ModelEnv::Slice slice(&env_);
            tree_.write({WriteKind::kReplay, op, record->key, record->value, ts, {}});
        }
        table_.setClock(ts);
    }
    Status readPage(PageId page, std::string* image) override {
        const auto found = images_.find(page);
        if (found == images_.end()) {
            return Status(Code::kNotFound, "no such page");
        }
        *image = found->second.bytes;
        return Status::ok();
    }
    /// The loader compares the note with the image.
    block::PagePlace placeOf(PageId page) const override {
        const auto found = images_.find(page);
        return found == images_.end() ? block::PagePlace{}
                                      : block::PagePlace{{1, 1}, 0, 0, found->second.note};
    }
    Leaves leaves() const override { return Leaves::kKept; }
    void learnNote(PageId page, uint64_t note) override {
        testing::check(images_.at(page).note == note, "a leaf is noted");
    }
    void noteUsed(uint32_t, PageId, bool) override {}
    bool canLose() const override { return false; }
    void lose(const std::string& /*what*/) override {}
    const std::vector<Survivor>& survivors(uint32_t) override { return none_; }

    const Images& images_;
    const std::vector<Survivor> none_;
    TxnTable table_{kTinyTable};
    ModelEnv env_;
    PageTree tree_;
};

struct World : CheckpointSink {
    explicit World(TreeLimits limits = {}) : env(&table, limits), tree(&env, kTree) {}

    struct Open {
        std::string key;
        std::string value;
        uint64_t stamp = 0;
        Version* version = nullptr;
        std::unique_ptr<CommitSteps> steps;
    };
    Open begun(uint16_t participant, const std::string& key, const std::string& value) {
        Open open{key, value, 0, nullptr, nullptr};
        testing::Uninterrupted whole;
        open.stamp = *table.open();
        open.steps = std::make_unique<CommitSteps>(table, env.floors, env.times, participant);
        return open;
    }
    /// Links the version, if its leaf is in memory. REQUIRES: the participant's slice is open.
    Fault link(Open& open) {
        const VersionOp op = open.value.empty() ? VersionOp::kDelete : VersionOp::kPut;
        const WriteResult result = tree.write(
            {WriteKind::kPut, op, open.key, open.value, open.stamp, {UINT64_MAX >> 2, open.stamp}});
        testing::check(result.kind == WriteResult::Kind::kDone || result.fault.leaf != nullptr,
                       "each key is written by one thread at a time");
        open.version = result.version;
        return result.fault;
    }
    /// Links a version. REQUIRES: the participant's slice is open.
    Open write(uint16_t participant, const std::string& key, const std::string& value) {
        Open open = begun(participant, key, value);
        testing::check(link(open).leaf == nullptr, "the leaf is in memory");
        return open;
    }
    void begin(Open& open) { open.steps->begin(open.stamp, env.journal.tailLsn()); }
    void append(Open& open) { env.journal.append({open.key, open.value}); }
    /// A transaction of two keys whose records are a chain. `lateFloor`: a mistake, the floor is
    /// not that of the first record.
    void putChain(uint16_t participant,
                  const std::array<std::string, 2>& keys,
                  const std::string& value,
                  bool lateFloor) {
        using Part = ModelJournal::Record::Part;
        ModelEnv::Slice slice(&env);
        Open open = write(participant, keys[0], value);
        Open other{keys[1], value, open.stamp, nullptr, nullptr};
        testing::check(link(other).leaf == nullptr, "the leaf is in memory");
        if (!lateFloor) {
            begin(open);
        }
        const uint64_t first = env.journal.append({keys[0], value, Part::kFirst});
        if (lateFloor) {
            begin(open);
        }
        env.journal.append({keys[1], value, Part::kLast, first});
        const uint64_t ts = open.steps->complete(open.stamp, 0);
        testing::Uninterrupted whole;
        const std::array<Version*, 2> versions{open.version, other.version};
        settle(table, open.stamp, versions, ts);
        committed[keys[0]] = committed[keys[1]] = value;
    }
    void complete(Open& open) {
        const uint64_t ts = open.steps->complete(open.stamp, 0);
        testing::Uninterrupted whole;
        settle(table, open.stamp, std::span<Version* const>(&open.version, 1), ts);
        committed[open.key] = open.value;
    }
    void abort(Open& open) {
        testing::Uninterrupted whole;
        table.setAborted(open.stamp);
        settle(table, open.stamp, std::span<Version* const>(&open.version, 1), kStampAborted);
    }
    void put(uint16_t participant, const std::string& key, const std::string& value) {
        ModelEnv::Slice slice(&env);
        Open open = write(participant, key, value);
        begin(open);
        append(open);
        complete(open);
    }
    /// With tiny pages: "b" in one leaf, "d" and "f" in the other, each with an image.
    void beginWithTwoLeaves() {
        testing::Uninterrupted whole;
        for (const char* key : {"b", "d", "f"}) {
            put(0, key, "1");
        }
        rebuild("");
        checkpoint();
        checkpoint();
    }
    void rebuild(ByteView key) {
        ModelEnv::Slice slice(&env);
        tree.rebuildForTest(key);
    }

    /// Writes images of all due pages, which no checkpoint names yet.
    Status writeBack() {
        TreeWriter writer(env, tree, *this, kImagesAtOnce);
        looksLeft = looks;
        writer.removeSparse();
        hand.begin(share);
        hand.pass(tree, *this);
        FRESHET_RETURN_IF_ERROR(writer.writeDuePages());
        writer.foldRested();
        return Status::ok();
    }
    void checkpoint() {
        if (!writeBack().isOk()) {
            return;
        }
        const uint64_t position =
            redoLsn(env, redo, [this] { return std::vector<PageTree*>{&tree}; });
        testing::check(position >= redo, "the journal before the last position may be gone");
        durable = staged;
        redo = position;
    }
    void inSlice(const std::function<void()>& work) override {
        ModelEnv::Slice slice(&env);
        work();
    }
    Status writeImages(std::span<NewImage> wanted) override {
        if (writesUntilFull < wanted.size()) {
            return Status(Code::kNoSpace, "full");
        }
        writesUntilFull -= wanted.size();
        for (NewImage& image : wanted) {
            // `block` fills in and checks most of the header; here only the lengths are read back,
            // which are set.
            staged[image.page] = {image.bytes, image.note};
            images.push_back(image.bytes);
            image.place = {{images.size(), 1}, 0, 0, image.note};
        }
        return Status::ok();
    }
    void onBatch(uint64_t) override {
        if (evictsBetween) {
            evict();
        }
    }
    bool takeLookToMove(uint32_t) override { return moves || looksLeft-- > 0; }
    bool wantsMoved(const block::PagePlace&) const override { return moves; }
    void noteMove(const block::PagePlace&) override {}
    Status bringBack(PageTree&, PageEntry* entry) override {
        for (;;) {
            Fault fault;
            bool first = false;
            {
                ModelEnv::Slice slice(&env);
                Node* node = entry->word.load(sync::kAcquire);
                if (!node->isOnDisk) {
                    return Status::ok();
                }
                fault = {entry, static_cast<DiskLeaf*>(node)};
                first = joins(fault);
            }
            follow(fault, first);
        }
    }
    /// In a slice: whether the caller must load the leaf.
    bool joins(const Fault& fault) {
        testing::Uninterrupted whole;
        sync::WaitToken token;
        // Reads begin in both ways: with a waiter, and without.
        const bool begun = ++joined % 2 == 0 && fault.leaf->begin();
        const DiskLeaf::Join join = begun ? DiskLeaf::Join::kFirst : fault.leaf->join(&token);
        testing::check(join != DiskLeaf::Join::kFailed, "images can be read");
        if (join == DiskLeaf::Join::kFirst) {
            loading.insert(fault.leaf);
        }
        return join == DiskLeaf::Join::kFirst;
    }
    /// Outside of it: loads, or waits for the thread that does.
    void follow(const Fault& fault, bool first) {
        if (!first) {
            testing::waitUntil([this, fault] { return loading.count(fault.leaf) == 0; });
            return;
        }
        auto readImage = [this](PageId, const block::PagePlace& place, block::PageBuffer* buffer) {
            const std::string& image = images[place.extent.firstBlock - 1];
            char* bytes = buffer->reset(image.size());
            image.copy(bytes, image.size());
            return StatusOr<ByteView>(ByteView(bytes, image.size()));
        };
        block::PageBuffer buffer;
        StatusOr<LeafNode*> leaf =
            leafFromImage(env, tree, *fault.entry, *fault.leaf, readImage, &buffer);
        testing::check(leaf.isOk(), "a leaf is found where it was left");
        DiskLeaf::Waiting* waiting = nullptr;
        {
            ModelEnv::Slice slice(&env);
            tree.eviction().bringBack(fault, *leaf);
            waiting = fault.leaf->close(Status::ok());
            loading.erase(fault.leaf);
        }
        DiskLeaf::wake(waiting);
    }
    /// As put(), for a key whose leaf may be on disk.
    void putAnywhere(uint16_t participant, const std::string& key, const std::string& value) {
        Open open = begun(participant, key, value);
        for (;;) {
            Fault fault;
            bool first = false;
            {
                ModelEnv::Slice slice(&env);
                fault = link(open);
                if (fault.leaf == nullptr) {
                    begin(open);
                    append(open);
                    complete(open);
                    return;
                }
                first = joins(fault);
            }
            follow(fault, first);
        }
    }
    /// What a new snapshot sees.
    std::string getAnywhere(const std::string& key) {
        for (;;) {
            Fault fault;
            bool first = false;
            {
                ModelEnv::Slice slice(&env);
                const std::optional<ValueRef> value = tree.get(key, {slice.snapshot, 0}, &fault);
                if (fault.leaf == nullptr) {
                    return value ? std::string(value->bytes) : "";
                }
                first = joins(fault);
            }
            follow(fault, first);
        }
    }
    /// Called by the checkpoint's thread.
    void evict() {
        size_t left = 0;
        {
            ModelEnv::Slice slice(&env);
            left = tree.eviction().residents();
        }
        for (; left != 0; --left) {
            ModelEnv::Slice slice(&env);
            forgetTouches();
            evicted += tree.eviction().evictNext() != 0 ? 1 : 0;
        }
    }
    /// So that the eviction takes all it can.
    void forgetTouches() {
        testing::Uninterrupted whole;
        tree.allPages().forEach([](const PageEntry& page) {
            if (page.state.load(sync::kAcquire) != PageState::kLive) {
                return;
            }
            if (Node* node = page.word.load(sync::kAcquire); node->isLeaf()) {
                static_cast<LeafNode*>(node)->touched.store(0, sync::kRelaxed);
            }
        });
    }
    void expectAllThere() {
        testing::Uninterrupted whole;
        for (const auto& [key, value] : committed) {
            testing::check(getAnywhere(key) == value, "what was committed is there");
        }
        ModelEnv::Slice slice(&env);
        testing::check(checkTree(tree).error.empty(), "a sound tree");
    }
    void notePagesGone(uint32_t, const std::vector<PageId>& pages) override {
        for (const PageId page : pages) {
            staged.erase(page);
            ++gone;
        }
    }
    void noteFirstImage(uint32_t, PageId) override {}

    void expectRecovered() {
        Recovered recovered(durable, env.journal, redo);
        for (const auto& [key, value] : committed) {
            testing::check(recovered.get(key) == value,
                           "what was committed is there after a crash");
        }
        for (const std::string& key : aborted) {
            testing::check(committed.count(key) != 0 || recovered.get(key).empty(),
                           "and nothing else");
        }
    }

    TxnTable table{kTinyTable};
    CheckpointEnv env;
    PageTree tree;
    Images staged;
    Images durable;
    std::vector<std::string> images;  // by their places
    std::set<const DiskLeaf*> loading;
    int joined = 0;
    int evicted = 0;
    int gone = 0;
    uint64_t redo = 1;
    uint64_t writesUntilFull = UINT64_MAX;
    bool moves = false;          // a checkpoint writes all pages anew
    int looks = 0;               // number of pages that it looks at, of which none is to be moved
    int looksLeft = 0;           // of these, what is left
    bool evictsBetween = false;  // evicts between two batches of images
    SparseHand hand;
    SparseHand::Share share;  // empty: only leaves in memory are removed
    std::map<std::string, std::string> committed;
    std::vector<std::string> aborted;
};

}  // namespace freshet::engine
