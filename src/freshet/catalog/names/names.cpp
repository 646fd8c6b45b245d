// SPDX-License-Identifier: Apache-2.0
/// Which names databases and collections may have.
#include "freshet/bson/json.h"
#include "freshet/catalog/names/catalog_impl.h"
#include "freshet/catalog/writable_names.h"

#include <algorithm>
#include <iterator>

namespace freshet::catalog {

namespace {

constexpr size_t kDatabaseNameBytesMax = 63;
constexpr size_t kNamespaceBytesMax = 255;

Status badName(std::string text) {
    return invalid(Reason::kInvalidNamespace, std::move(text));
}

/// Only ASCII letters, as MongoDB compares database names.
bool equalsIgnoringCase(std::string_view a, std::string_view b) {
    auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](char x, char y) {
        return lower(x) == lower(y);
    });
}

/// The server's own collections that clients may make. Views and time series are not supported, so
/// the collections that describe them cannot be made either.
struct SystemName {
    std::string_view db;  // empty: any
    std::string_view collection;
};
constexpr SystemName kSystemNames[] = {{"", "system.profile"},
                                       {"", "system.users"},
                                       {"", "system.js"},
                                       {"admin", "system.roles"},
                                       {"admin", "system.version"},
                                       {"admin", "system.keys"},
                                       {"admin", "system.backup_users"},
                                       {"config", "system.sessions"},
                                       {"config", "system.indexBuilds"},
                                       {"config", "system.preimages"},
                                       {"local", "system.replset"},
                                       {"local", "system.healthlog"}};

bool isUtf8(std::string_view name) {
    const bool isAscii =
        std::none_of(name.begin(), name.end(), [](char c) { return static_cast<int8_t>(c) < 0; });
    return isAscii || bson::repairedUtf8(name) == name;
}

}  // namespace

Status checkDatabaseCase(const NameMap& names, std::string_view db) {
    if (names.hasDatabase(db)) {
        return Status::ok();
    }
    for (const std::string& existing : names.databases()) {
        if (equalsIgnoringCase(existing, db)) {
            return Status(Code::kExists,
                          Reason::kDatabaseDifferCase,
                          "db already exists with different case already have: [" + existing +
                              "] trying to create [" + std::string(db) + "]");
        }
    }
    return Status::ok();
}

bool isDatabaseName(std::string_view db) {
    const auto isForbidden = [](char c) {
        return c == '/' || c == '\\' || c == '.' || c == ' ' || c == '"' || c == '$' || c == '\0';
    };
    return !db.empty() && db.size() <= kDatabaseNameBytesMax &&
           std::none_of(db.begin(), db.end(), isForbidden) && isUtf8(db);
}

Status checkNames(std::string_view db, std::string_view collection) {
    const auto ns = [&] { return std::string(db) + "." + std::string(collection); };
    if (!isDatabaseName(db) || collection.empty() ||
        collection.find('\0') != std::string_view::npos || !isUtf8(collection)) {
        return badName("Invalid namespace specified '" + bson::repairedUtf8(ns()) + "'");
    }
    if (collection.front() == '.') {
        return badName("Collection names cannot start with '.': " + std::string(collection));
    }
    if (collection.find('$') != std::string_view::npos) {
        return badName("Invalid collection name: " + std::string(collection));
    }
    if (db.size() + 1 + collection.size() > kNamespaceBytesMax) {
        return badName("Fully qualified namespace is too long. Namespace: " + ns() +
                       " Max: " + std::to_string(kNamespaceBytesMax));
    }
    return Status::ok();
}

Status checkWritable(std::string_view db, std::string_view collection) {
    FRESHET_RETURN_IF_ERROR(checkNames(db, collection));
    const auto ns = [&] { return std::string(db) + "." + std::string(collection); };
    if (collection.starts_with("system.") &&
        std::none_of(std::begin(kSystemNames), std::end(kSystemNames), [&](const SystemName& one) {
            return one.collection == collection && (one.db.empty() || one.db == db);
        })) {
        return badName("Invalid system namespace: " + ns());
    }
    // What is read there is the log.
    if (db == "local" && collection == "oplog.rs") {
        return badName("cannot write to " + ns());
    }
    // As in MongoDB, which keeps parts of its config.system.sessions under such names.
    if (collection.find(".system.") != std::string_view::npos &&
        collection.find(".system.sessions") == std::string_view::npos) {
        return invalid(Reason::kBadValue, "Invalid namespace: " + ns());
    }
    return Status::ok();
}

}  // namespace freshet::catalog
