// SPDX-License-Identifier: Apache-2.0
/// Index keys of a document: the walk along several paths at once.
#include "freshet/catalog/index/index_keys.h"

#include "freshet/bson/json.h"
#include "freshet/bson/keyform.h"
#include "freshet/catalog/documents.h"

#include <algorithm>
#include <functional>

namespace freshet::catalog {

namespace {

constexpr size_t kRecordIdBytes = 8;

/// What an empty array at the end of a path is indexed as.
bson::Element undefinedElement() {
    static constexpr char kBytes[] = {static_cast<char>(bson::Type::kUndefined), '\0'};
    return bson::Element(kBytes);
}

/// The array element that `component` names as an index; missing if it names none.
bson::Element elementAt(bson::Document array, std::string_view component) {
    bool isIndex = !component.empty() && component.size() <= 9 &&
                   component.find_first_not_of("0123456789") == std::string_view::npos;
    return isIndex ? array.find(component) : bson::Element();
}

std::string_view firstComponent(std::string_view path) {
    return path.substr(0, path.find('.'));
}

std::string_view afterFirst(std::string_view path) {
    size_t dot = path.find('.');
    return dot == std::string_view::npos ? std::string_view() : path.substr(dot + 1);
}

/// How far a walk along one path has come: to a value, or to an array.
struct PathPosition {
    bson::Element at;       // the value reached, missing, or the array
    std::string_view rest;  // the part of the path after the array
    bool beforeArray = false;
};

/// Follows `path` from `document` to a value or to the first array.
PathPosition follow(bson::Document document, std::string_view path) {
    for (;;) {
        bson::Element element = document.find(firstComponent(path));
        path = afterFirst(path);
        while (element.isArray() && !path.empty()) {
            bson::Element named = elementAt(element.document(), firstComponent(path));
            if (named.isMissing()) {
                break;
            }
            element = named;
            path = afterFirst(path);
        }
        if (element.isArray()) {
            return {element, path, true};
        }
        if (path.empty()) {
            return {element, {}, false};
        }
        if (!element.isObject()) {
            return {};
        }
        document = element.document();
    }
}

/// Walks all paths of an index together, so that fields below one array stay in step.
class KeyWalk {
public:
    /// An error ends the walk.
    using Emit = std::function<Status(const std::vector<PathPosition>&)>;

    KeyWalk(const Index& index, Emit emit) : index_(index), emit_(std::move(emit)) {}

    Status run(bson::Document document) {
        std::vector<PathPosition> positions;
        for (const KeyField& field : index_.fields) {
            positions.push_back(follow(document, field.path));
        }
        return expand(positions);
    }
    bool multikey() const { return multikey_; }

private:
    /// Bounded by the nesting of documents (bson::kNestingMax).
    Status expand(const std::vector<PathPosition>& positions) {
        const PathPosition* array = nullptr;
        for (const PathPosition& position : positions) {
            if (!position.beforeArray) {
                continue;
            }
            if (array != nullptr && array->at.whole().data() != position.at.whole().data()) {
                return invalid(Reason::kParallelArrays,
                               "cannot index parallel arrays [" + std::string(position.at.name()) +
                                   "] [" + std::string(array->at.name()) + "]");
            }
            array = array == nullptr ? &position : array;
        }
        if (array == nullptr) {
            return emit_(positions);
        }
        multikey_ = true;
        bson::Document elements = array->at.document();
        if (elements.isEmpty()) {
            return expand(step(positions, bson::Element()));
        }
        for (const bson::Element& element : elements) {
            FRESHET_RETURN_IF_ERROR(expand(step(positions, element)));
        }
        return Status::ok();
    }

    /// The positions after entering `element` of the array; a missing element stands for an empty
    /// array.
    static std::vector<PathPosition> step(const std::vector<PathPosition>& positions,
                                          const bson::Element& element) {
        std::vector<PathPosition> next = positions;
        for (PathPosition& position : next) {
            if (!position.beforeArray) {
                continue;
            }
            if (position.rest.empty()) {
                position = {element.isMissing() ? undefinedElement() : element, {}, false};
            } else if (element.isObject()) {
                position = follow(element.document(), position.rest);
            } else {
                position = {};
            }
        }
        return next;
    }

    const Index& index_;
    Emit emit_;
    bool multikey_ = false;
};

std::string keyOf(const Index& index, const std::vector<PathPosition>& positions) {
    std::string key;
    for (size_t i = 0; i < positions.size(); ++i) {
        bson::appendKeyForm(positions[i].at, index.fields[i].descending, &key, nullptr);
    }
    return key;
}

bool allMissing(const std::vector<PathPosition>& positions) {
    return std::all_of(positions.begin(), positions.end(), [](const PathPosition& position) {
        return position.at.isMissing();
    });
}

Status tooLong(std::string text) {
    return Status(Code::kLimit, Reason::kBadValue, std::move(text));
}

/// `all`: the length of the keys so far.
Status checkLengths(const Index& index, size_t one, size_t all) {
    if (one + kRecordIdBytes > engine::kKeyBytesMax) {
        return tooLong("key too large to index " + index.name + ", the limit is " +
                       std::to_string(engine::kKeyBytesMax - kRecordIdBytes) + " bytes");
    }
    if (all > kKeysBytesMax) {
        return tooLong("the keys of one document are too many to index " + index.name +
                       ", the limit is " + std::to_string(kKeysBytesMax) + " bytes together");
    }
    return Status::ok();
}

}  // namespace

Status makeIndexKeys(const Index& index, bson::Document document, IndexKeys* out) {
    out->keys.clear();
    out->multikey = false;
    if (index.filter != nullptr) {
        bool isIndexed = false;
        FRESHET_RETURN_IF_ERROR(index.filter->test(document, &isIndexed));
        if (!isIndexed) {
            return Status::ok();
        }
    }
    size_t bytes = 0;
    KeyWalk walk(index, [&](const std::vector<PathPosition>& positions) {
        if (index.sparse && allMissing(positions)) {
            return Status::ok();
        }
        out->keys.push_back(keyOf(index, positions));
        bytes += out->keys.back().size();
        return checkLengths(index, out->keys.back().size(), bytes);
    });
    FRESHET_RETURN_IF_ERROR(walk.run(document));
    out->multikey = walk.multikey();
    std::sort(out->keys.begin(), out->keys.end());
    out->keys.erase(std::unique(out->keys.begin(), out->keys.end()), out->keys.end());
    return Status::ok();
}

std::string entryKey(const Index& index, ByteView key, RecordId id) {
    std::string entry;
    entry.reserve(key.size() + kRecordIdBytes);
    entry.append(key);
    if (!index.unique) {
        appendBe64(entry, id);
    }
    return entry;
}

std::string entryValue(const Index& index, RecordId id) {
    return index.unique ? recordKey(id) : std::string();
}

StatusOr<RecordId> recordIdOfEntry(const Index& index, ByteView key, ByteView value) {
    ByteView holder = index.unique ? value.substr(0, kRecordIdBytes) : key;
    if (holder.size() < kRecordIdBytes) {
        return Status(Code::kCorruption, "index " + index.name + ": an entry without record id");
    }
    return loadBe64(holder.data() + holder.size() - kRecordIdBytes);
}

bson::OwnedDocument keyValues(const Index& index, bson::Document document, ByteView key) {
    std::string found = bson::Builder().finish();
    KeyWalk walk(index, [&](const std::vector<PathPosition>& positions) {
        if (keyOf(index, positions) != key) {
            return Status::ok();
        }
        bson::Builder builder;
        for (size_t i = 0; i < positions.size(); ++i) {
            if (positions[i].at.isMissing()) {
                builder.add(index.fields[i].path, bson::Null{});
            } else {
                builder.addAs(index.fields[i].path, positions[i].at);
            }
        }
        found = builder.finish();
        return Status::ok();
    });
    Status status = walk.run(document);
    dcheck(status.isOk());  // the document has given this key before
    return bson::OwnedDocument(std::move(found));
}

Status duplicateKey(const Collection& collection,
                    const Index& index,
                    bson::Document document,
                    ByteView key,
                    bson::OwnedDocument* info) {
    bson::OwnedDocument values = keyValues(index, document, key);
    bson::Builder builder;
    builder.add("keyPattern", index.spec.view().find("key").document());
    builder.add("keyValue", values.view());
    *info = bson::OwnedDocument(builder.finish());
    return Status(Code::kExists,
                  Reason::kDuplicateKey,
                  "E11000 duplicate key error collection: " + collection.ns() +
                      " index: " + index.name + " dup key: " + bson::toShellText(values.view()));
}

}  // namespace freshet::catalog
