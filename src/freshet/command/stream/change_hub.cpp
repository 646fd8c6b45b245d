// SPDX-License-Identifier: Apache-2.0
#include "freshet/command/stream/change_hub.h"

#include "freshet/base/assert.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace freshet::command {
namespace {

/// Without listeners for so long, it lets go of the log.
constexpr std::chrono::seconds kIdleMax{1};

void makeKey(std::string_view db, std::string_view collection, std::string* key) {
    key->assign(db).append(1, '\0').append(collection);
}

std::string keyOf(const WatchedPlace& place) {
    std::string key;
    makeKey(place.db, place.collection, &key);
    return key;
}

}  // namespace

ChangeHub::ChangeHub(journal::Journal& journal, int seats) : journal_(journal), seatsLeft_(seats) {}

ChangeHub::~ChangeHub() {
    {
        const std::lock_guard<std::mutex> guard(mutex_);
        invariant(waiting_ == 0);
        isStopping_ = true;
        awaited_.complete();
        changed_.notify_all();
    }
    if (thread_.joinable()) {
        thread_.join();
    }
}

ChangeHub::Seat::~Seat() {
    const std::lock_guard<std::mutex> guard(hub_.mutex_);
    ++hub_.seatsLeft_;
}

std::unique_ptr<ChangeHub::Seat> ChangeHub::takeSeat() {
    const std::lock_guard<std::mutex> guard(mutex_);
    if (seatsLeft_ == 0 && !hasFailed_) {
        return nullptr;
    }
    --seatsLeft_;
    return std::make_unique<Seat>(*this);
}

std::unique_ptr<ChangeHub::Listener> ChangeHub::listen(const Watch& watch, Place from) {
    const std::lock_guard<std::mutex> guard(mutex_);
    if (from.position < begun_ || hasFailed_) {
        return nullptr;
    }
    std::unique_ptr<Listener> listener(new Listener(*this, watch, from));
    groups_[keyOf(watch.place())].add(listener.get());
    first_ = waiting_ == 0 ? from.position : std::min(first_, from.position);
    ++waiting_;
    if (!thread_.joinable()) {
        thread_ = platform::Thread("change-hub", [this] { run(); });
    }
    changed_.notify_all();
    return listener;
}

ChangeHub::Listener::~Listener() {
    const std::lock_guard<std::mutex> guard(hub_.mutex_);
    if (isWaiting_) {
        hub_.wake(this, from_);
    }
}

ChangeHub::Place ChangeHub::Listener::clean() const {
    const std::lock_guard<std::mutex> guard(hub_.mutex_);
    if (!isWaiting_) {
        return found_;
    }
    return hub_.clean_.position > from_.position ? hub_.clean_ : from_;
}

void ChangeHub::Group::add(Listener* listener) {
    const auto& key = listener->watch_.key();
    (key.has_value() ? withKey[key->path][key->value] : withoutKey).insert(listener);
}

void ChangeHub::Group::remove(Listener* listener) {
    const auto& key = listener->watch_.key();
    if (!key.has_value()) {
        withoutKey.erase(listener);
        return;
    }
    const auto path = withKey.find(key->path);
    const auto value = path->second.find(key->value);
    value->second.erase(listener);
    if (value->second.empty()) {
        path->second.erase(value);
    }
    if (path->second.empty()) {
        withKey.erase(path);
    }
}

ChangeHub::Listener* ChangeHub::Group::any() const {
    return *(withoutKey.empty() ? withKey.begin()->second.begin()->second : withoutKey).begin();
}

/// The caller has the mutex.
void ChangeHub::wake(Listener* listener, Place found) {
    listener->isWaiting_ = false;
    listener->found_ = found;
    const auto group = groups_.find(keyOf(listener->watch_.place()));
    group->second.remove(listener);
    if (group->second.isEmpty()) {
        groups_.erase(group);
    }
    --waiting_;
    listener->token_.complete();
}

void ChangeHub::run() {
    std::unique_lock<std::mutex> lock(mutex_);
    while (!isStopping_ && !hasFailed_) {
        const auto isWanted = [this] { return isStopping_ || waiting_ > 0; };
        if (!changed_.wait_for(lock, kIdleMax, isWanted)) {
            events_.reset();  // its pin would hold the log
            changed_.wait(lock, isWanted);
        }
        if (isStopping_) {
            break;
        }
        const bool isOpen = openEvents();
        lock.unlock();
        if (isOpen) {
            step();
        } else {
            fail();
        }
        lock.lock();
    }
    events_.reset();
}

/// At the first place that a listener may need. The caller has the mutex.
bool ChangeHub::openEvents() {
    if (events_ != nullptr) {
        return true;
    }
    auto events = LogEvents::open(journal_, {.lsn = first_});
    if (events.isOk()) {
        events_ = std::move(*events);
    }
    return events.isOk();
}

void ChangeHub::step() {
    const CommittedEvent* event = nullptr;
    const Status status = events_->next(&event);
    if (status.isOk()) {
        show(*event);
    } else if (status.isWouldBlock()) {
        await();
    } else {
        fail();
    }
}

void ChangeHub::await() {
    sync::WaitToken token;
    {
        const std::lock_guard<std::mutex> guard(mutex_);
        if (!events_->isInCommit() && events_->position() > clean_.position) {
            clean_ = placeOfEvents();
            begun_ = std::max(begun_, clean_.position);
        }
        if (isStopping_ || waiting_ == 0) {
            return;
        }
        token = awaited_ = events_->token();
    }
    sync::blockOn(token);
}

void ChangeHub::show(const CommittedEvent& committed) {
    const catalog::Event& event = committed.event;
    const std::lock_guard<std::mutex> guard(mutex_);
    if (committed.lsn >= begun_) {
        clean_ = {committed.lsn, committed.timestamp};
        begun_ = committed.lsn + 1;
    }
    wakeAt(event.db, event.collection, committed);
    if (!event.collection.empty()) {
        wakeAt(event.db, {}, committed);
    }
    if (!event.db.empty()) {
        wakeAt({}, {}, committed);
    }
    if (event.kind == catalog::EventKind::kRename) {
        const WatchedPlace to = targetOf(event);
        wakeAt(to.db, to.collection, committed);
    }
}

/// The caller has the mutex.
void ChangeHub::wakeAt(std::string_view db,
                       std::string_view collection,
                       const CommittedEvent& committed) {
    makeKey(db, collection, &key_);
    const auto group = groups_.find(key_);
    if (group == groups_.end()) {
        return;
    }
    std::vector<Listener*> found;
    collect(group->second.withoutKey, committed, false, &found);
    for (const auto& [path, byValue] : group->second.withKey) {
        const ValueAtKey at = valueAtKey(committed, path);
        if (at.kind == ValueAtKey::Kind::kValue) {
            if (const auto value = byValue.find(at.value); value != byValue.end()) {
                collect(value->second, committed, false, &found);
            }
        } else if (at.kind != ValueAtKey::Kind::kNone) {
            for (const auto& [value, listeners] : byValue) {
                collect(listeners, committed, at.kind == ValueAtKey::Kind::kOfLookup, &found);
            }
        }
    }
    for (Listener* const listener : found) {
        wake(listener, {committed.lsn, committed.timestamp});
    }
}

void ChangeHub::collect(const Listeners& from,
                        const CommittedEvent& committed,
                        bool onlyLookups,
                        std::vector<Listener*>* found) {
    for (Listener* const listener : from) {
        if (listener->from_.position <= committed.lsn &&
            (!onlyLookups || listener->watch_.looksUp()) &&
            listener->watch_.shows(committed.event)) {
            found->push_back(listener);
        }
    }
}

/// From now on every stream reads for itself, and hears what is wrong.
void ChangeHub::fail() {
    const std::lock_guard<std::mutex> guard(mutex_);
    hasFailed_ = true;
    while (!groups_.empty()) {
        Listener* const listener = groups_.begin()->second.any();
        wake(listener, listener->from_);
    }
}

}  // namespace freshet::command
