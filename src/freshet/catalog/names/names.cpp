// SPDX-License-Identifier: Apache-2.0
/// Which names databases and collections may have.
#include "freshet/catalog/names/catalog_impl.h"

#include <algorithm>

namespace freshet::catalog {

namespace {

constexpr size_t kDatabaseNameBytesMax = 63;
constexpr size_t kNamespaceBytesMax = 255;

Status badName(std::string text) {
    return invalid(Reason::kInvalidNamespace, std::move(text));
}

/// ASCII alone, as the protocol's servers compare names of databases.
bool equalsIgnoringCase(std::string_view a, std::string_view b) {
    auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](char x, char y) {
        return lower(x) == lower(y);
    });
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
           std::none_of(db.begin(), db.end(), isForbidden);
}

Status checkNames(std::string_view db, std::string_view collection) {
    const auto ns = [&] { return std::string(db) + "." + std::string(collection); };
    if (!isDatabaseName(db) || collection.empty() ||
        collection.find('\0') != std::string_view::npos) {
        return badName("Invalid namespace specified '" + ns() + "'");
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

}  // namespace freshet::catalog
