// SPDX-License-Identifier: Apache-2.0
/// For tests: a TailSource over a list that grows. The list is used by any thread, but only one
/// source may wait for it.
#pragma once

#include "freshet/query/tail.h"
#include "freshet/sync/mutex.h"

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace freshet::query {

/// The token of place n: behind the first n entries of the list.
inline bson::OwnedDocument placeForTest(size_t n) {
    bson::Builder builder;
    builder.add("_data", std::to_string(n));
    return bson::OwnedDocument(builder.finish());
}

class ListForTest {
public:
    /// Adds an event with these fields and with its place as _id.
    void push(bson::Document fields) {
        add([&](size_t place) {
            bson::Builder builder;
            builder.add("_id", placeForTest(place).view());
            builder.addFields(fields);
            return bson::OwnedDocument(builder.finish());
        });
    }
    /// Adds something of no interest: it has a place, but is not given.
    void pass() {
        add([](size_t) { return bson::OwnedDocument(); });
    }
    /// No source gives more than there is now.
    void end() {
        std::lock_guard<sync::Mutex> lock(mutex_);
        isOver_ = true;
        grown_.complete();
    }
    /// What a source returns instead of being dry.
    void fail(Status why) {
        std::lock_guard<sync::Mutex> lock(mutex_);
        failure_ = std::move(why);
        grown_.complete();
    }

    /// The entry behind that place; empty if there is none, and then *grown is completed when there
    /// may be one.
    std::optional<bson::OwnedDocument> at(size_t place, sync::WaitToken* grown, Status* failure) {
        std::lock_guard<sync::Mutex> lock(mutex_);
        if (place < entries_.size()) {
            return entries_[place];
        }
        if (grown_.isDone()) {
            grown_ = sync::WaitToken::create();
        }
        *grown = grown_;
        *failure = failure_;
        return std::nullopt;
    }
    bool isOverAt(size_t place) {
        std::lock_guard<sync::Mutex> lock(mutex_);
        return isOver_ && place == entries_.size();
    }

private:
    template <typename Make>
    void add(Make make) {
        std::lock_guard<sync::Mutex> lock(mutex_);
        entries_.push_back(make(entries_.size() + 1));
        grown_.complete();
    }

    sync::Mutex mutex_;
    std::vector<bson::OwnedDocument> entries_;           // guarded by mutex_
    sync::WaitToken grown_ = sync::WaitToken::create();  // guarded by mutex_
    bool isOver_ = false;                                // guarded by mutex_
    Status failure_;                                     // guarded by mutex_
};

class TailForTest final : public TailSource {
public:
    /// `pauses`: each entry takes two calls.
    explicit TailForTest(std::shared_ptr<ListForTest> list, size_t from = 0, bool pauses = false)
        : list_(std::move(list)), place_(from), pauses_(pauses) {}

    Status next(bson::Document* document) override {
        isDry_ = false;
        while (true) {
            if (pauses_ && !std::exchange(hasPaused_, true)) {
                token_ = sync::WaitToken::completed();
                return Status::wouldBlock();
            }
            Status failure;
            std::optional<bson::OwnedDocument> entry = list_->at(place_, &token_, &failure);
            FRESHET_RETURN_IF_ERROR(std::move(failure));
            hasPaused_ = false;
            if (!entry.has_value()) {
                isDry_ = true;
                return Status::wouldBlock();
            }
            ++place_;
            if (!entry->view().isEmpty()) {
                last_ = *std::move(entry);
                *document = last_.view();
                return Status::ok();
            }
        }
    }
    const sync::WaitToken& token() const override { return token_; }
    bool isDry() const override { return isDry_; }
    bool isOver() const override { return list_->isOverAt(place_); }
    bson::OwnedDocument resumeToken() const override { return placeForTest(place_); }
    bson::OwnedDocument tokenOfPart(int32_t number) const override {
        bson::Builder builder;
        builder.add("_data", std::to_string(place_)).add("part", number);
        return bson::OwnedDocument(builder.finish());
    }
    uint64_t heldBytes() const override { return last_.bytes().size(); }

private:
    const std::shared_ptr<ListForTest> list_;
    size_t place_;
    const bool pauses_;
    bool hasPaused_ = false;
    bool isDry_ = false;
    bson::OwnedDocument last_;
    sync::WaitToken token_ = sync::WaitToken::completed();
};

}  // namespace freshet::query
