// SPDX-License-Identifier: Apache-2.0
#include "freshet/catalog/event.h"

#include "freshet/base/assert.h"
#include "freshet/bson/view.h"

#include <algorithm>

namespace freshet::catalog {
namespace {

constexpr size_t kEventHeadBytes = 8;
constexpr size_t kDocumentFieldBytes = 12;  // tree, record id
constexpr size_t kUpdateFieldBytes = 8;     // samePrefix, sameSuffix
constexpr size_t kEventUuidBytes = 16;
constexpr uint8_t kKeepsImages = 1;  // flag
/// A document's own length, which changes with its size, is left out of the comparison.
constexpr size_t kLengthBytes = 4;

bool keepsImages(const Collection& collection) {
    const bson::Element option = collection.options.view().find("changeStreamPreAndPostImages");
    if (!option.isObject()) {
        return false;
    }
    const bson::Element enabled = option.document().find("enabled");
    return enabled.type() == bson::Type::kBool && enabled.boolValue();
}

/// Sets *out to the head, with room for `more` bytes.
void putHead(EventKind kind,
             uint8_t flags,
             std::string_view db,
             std::string_view collection,
             ByteView uuid,
             size_t more,
             std::string* out) {
    dcheck(db.size() <= UINT8_MAX && collection.size() <= UINT16_MAX);
    dcheck(uuid.empty() || uuid.size() == kEventUuidBytes);
    out->clear();
    out->reserve(kEventHeadBytes + db.size() + collection.size() + uuid.size() + more);
    char head[kEventHeadBytes] = {};
    head[0] = static_cast<char>(kind);
    head[1] = static_cast<char>(flags);
    head[2] = static_cast<char>(db.size());
    head[3] = static_cast<char>(uuid.size());
    storeLe(head + 4, static_cast<uint16_t>(collection.size()));
    out->append(head, sizeof(head)).append(db).append(collection).append(uuid);
}

void putDocumentHead(
    EventKind kind, const Collection& collection, RecordId id, size_t more, std::string* out) {
    putHead(kind,
            keepsImages(collection) ? kKeepsImages : 0,
            collection.db,
            collection.name,
            collection.uuid,
            kDocumentFieldBytes + more,
            out);
    char fields[kDocumentFieldBytes];
    storeLe(fields, collection.treeId);
    storeLe(fields + 4, id);
    out->append(fields, sizeof(fields));
}

/// Number of leading bytes that agree.
size_t agreeing(ByteView a, ByteView b) {
    const size_t most = std::min(a.size(), b.size());
    size_t at = 0;
    while (at + sizeof(uint64_t) <= most &&
           loadLe<uint64_t>(a.data() + at) == loadLe<uint64_t>(b.data() + at)) {
        at += sizeof(uint64_t);
    }
    while (at < most && a[at] == b[at]) {
        ++at;
    }
    return at;
}

/// Number of bytes at the end that agree.
size_t agreeingAtEnd(ByteView a, ByteView b) {
    const size_t most = std::min(a.size(), b.size());
    size_t count = 0;
    while (count + sizeof(uint64_t) <= most &&
           loadLe<uint64_t>(a.data() + a.size() - count - sizeof(uint64_t)) ==
               loadLe<uint64_t>(b.data() + b.size() - count - sizeof(uint64_t))) {
        count += sizeof(uint64_t);
    }
    while (count < most && a[a.size() - count - 1] == b[b.size() - count - 1]) {
        ++count;
    }
    return count;
}

Status notAnEvent() {
    return Status(Code::kCorruption, "an event in the log has a wrong form");
}

/// Takes bytes from the front.
class Rest {
public:
    explicit Rest(ByteView bytes) : bytes_(bytes) {}
    bool take(size_t count, ByteView* out) {
        if (count > bytes_.size()) {
            return false;
        }
        *out = bytes_.substr(0, count);
        bytes_.remove_prefix(count);
        return true;
    }
    ByteView all() const { return bytes_; }

private:
    ByteView bytes_;
};

Status decodeDocument(ByteView bytes, bson::Document* document) {
    FRESHET_ASSIGN_OR_RETURN(*document, bson::Document::parse(bytes));
    return Status::ok();
}

Status decodeDocumentFields(Rest rest, Event* event) {
    ByteView fields;
    if (!rest.take(kDocumentFieldBytes, &fields) || event->uuid.empty()) {
        return notAnEvent();
    }
    event->tree = loadLe<engine::TreeId>(fields.data());
    event->record = loadLe<RecordId>(fields.data() + 4);
    if (event->kind == EventKind::kInsert) {
        return rest.all().empty() ? Status::ok() : notAnEvent();
    }
    if (event->kind == EventKind::kDelete) {
        return decodeDocument(rest.all(), &event->document);
    }
    if (!rest.take(kUpdateFieldBytes, &fields)) {
        return notAnEvent();
    }
    event->samePrefix = loadLe<uint32_t>(fields.data());
    event->sameSuffix = loadLe<uint32_t>(fields.data() + 4);
    event->replaced = rest.all();
    return Status::ok();
}

}  // namespace

bool hasEvents(std::string_view db, std::string_view collection) {
    return db != "local" && db != "config" && collection != "system.profile";
}

void encodeInsert(const Collection& collection, RecordId id, std::string* out) {
    putDocumentHead(EventKind::kInsert, collection, id, 0, out);
}

void encodeUpdate(const Collection& collection,
                  RecordId id,
                  bson::Document before,
                  bson::Document after,
                  bool isReplacement,
                  std::string* out) {
    ByteView old = before.bytes().substr(kLengthBytes);
    ByteView now = after.bytes().substr(kLengthBytes);
    if (isReplacement && !keepsImages(collection)) {
        old = {};  // nobody will ask for it
        now = {};
    }
    const size_t prefix = agreeing(old, now);
    const size_t suffix = agreeingAtEnd(old.substr(prefix), now.substr(prefix));
    const ByteView replaced = old.substr(prefix, old.size() - prefix - suffix);
    putDocumentHead(isReplacement ? EventKind::kReplace : EventKind::kUpdate,
                    collection,
                    id,
                    kUpdateFieldBytes + replaced.size(),
                    out);
    char fields[kUpdateFieldBytes];
    storeLe(fields, static_cast<uint32_t>(prefix));
    storeLe(fields + 4, static_cast<uint32_t>(suffix));
    out->append(fields, sizeof(fields)).append(replaced);
}

void encodeDelete(const Collection& collection,
                  RecordId id,
                  bson::Document before,
                  std::string* out) {
    if (keepsImages(collection)) {
        putDocumentHead(EventKind::kDelete, collection, id, before.bytes().size(), out);
        out->append(before.bytes());
        return;
    }
    bson::Builder key;
    key.add(before.find("_id"));
    const std::string bytes = key.finish();
    putDocumentHead(EventKind::kDelete, collection, id, bytes.size(), out);
    out->append(bytes);
}

void encodeDefinition(EventKind kind,
                      std::string_view db,
                      std::string_view collection,
                      ByteView uuid,
                      bson::Document details,
                      std::string* out) {
    dcheck(!isOfDocument(kind));
    putHead(kind, 0, db, collection, uuid, details.bytes().size(), out);
    out->append(details.bytes());
}

StatusOr<Event> decodeEvent(ByteView bytes) {
    Rest rest(bytes);
    ByteView head;
    if (!rest.take(kEventHeadBytes, &head)) {
        return notAnEvent();
    }
    const auto kind = static_cast<uint8_t>(head[0]);
    if (kind == 0 || kind > static_cast<uint8_t>(EventKind::kNote)) {
        return Status(Code::kUnsupported, "an event of a kind that is not known");
    }
    Event event;
    event.kind = static_cast<EventKind>(kind);
    event.keepsImages = (static_cast<uint8_t>(head[1]) & kKeepsImages) != 0;
    const auto uuidBytes = static_cast<uint8_t>(head[3]);
    if ((uuidBytes != 0 && uuidBytes != kEventUuidBytes) ||
        !rest.take(static_cast<uint8_t>(head[2]), &event.db) ||
        !rest.take(loadLe<uint16_t>(head.data() + 4), &event.collection) ||
        !rest.take(uuidBytes, &event.uuid)) {
        return notAnEvent();
    }
    FRESHET_RETURN_IF_ERROR(isOfDocument(event.kind) ? decodeDocumentFields(rest, &event)
                                                     : decodeDocument(rest.all(), &event.document));
    return event;
}

StatusOr<bson::OwnedDocument> beforeOf(const Event& event, bson::Document after) {
    const ByteView now = after.bytes().substr(kLengthBytes);
    if (uint64_t{event.samePrefix} + event.sameSuffix > now.size()) {
        return Status(Code::kCorruption, "an event does not belong to its document");
    }
    const size_t bytes = kLengthBytes + event.samePrefix + event.replaced.size() + event.sameSuffix;
    std::string before(kLengthBytes, '\0');
    before.reserve(bytes);
    storeLe(before.data(), static_cast<uint32_t>(bytes));
    before.append(now.substr(0, event.samePrefix)).append(event.replaced);
    before.append(now.substr(now.size() - event.sameSuffix));
    FRESHET_RETURN_IF_ERROR(bson::Document::parse(before).status());
    return bson::OwnedDocument(std::move(before));
}

}  // namespace freshet::catalog
