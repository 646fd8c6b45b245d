// SPDX-License-Identifier: Apache-2.0
/// Grants: what a user may do, as the sum of roles. A resource is the whole server, or collections
/// named by database and collection, where an empty name stands for any. Immutable once made; any
/// thread.
#pragma once

#include "freshet/bson/builder.h"
#include "freshet/command/registry.h"

#include <bitset>
#include <initializer_list>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace freshet::command {

using Actions = std::bitset<static_cast<size_t>(Action::kCount_)>;

Actions actionsOf(std::initializer_list<Action> list);

struct RoleName {
    std::string role;
    std::string db;
    bool operator==(const RoleName&) const = default;
};

inline constexpr char kAnyDb[] = "";

class Grants {
public:
    void addCluster(const Actions& actions) { cluster_ |= actions; }
    /// On every resource, the server and system collections included.
    void addAny(const Actions& actions) { any_ |= actions; }
    /// `db` or `collection` empty: any. "Any collection" excludes those named `system.`, and "any
    /// database" excludes `local` and `config`.
    void add(const std::string& db, const std::string& collection, const Actions& actions);

    bool allowsCluster(Action action) const;
    /// `collection` empty: the database itself.
    bool allows(Action action, std::string_view db, std::string_view collection) const;
    /// Whether any action is allowed on this collection.
    bool touches(std::string_view db, std::string_view collection) const;
    /// Whether a grant concerns this database, so that a list of databases may name it.
    bool touchesDatabase(std::string_view db) const;

    /// As elements of an array: {resource: {...}, actions: [...]}.
    void describe(bson::Builder* array) const;

private:
    using Key = std::pair<std::string, std::string>;
    struct Less {
        using is_transparent = void;
        template <typename A, typename B>
        bool operator()(const A& a, const B& b) const {
            return std::pair<std::string_view, std::string_view>(a.first, a.second) <
                   std::pair<std::string_view, std::string_view>(b.first, b.second);
        }
    };
    bool has(std::string_view db, std::string_view collection, size_t bit) const;

    Actions any_;
    Actions cluster_;
    Actions anyNormal_;  // on any collection of any database
    std::map<Key, Actions, Less> named_;
};

/// Adds what the built-in role allows. False when there is no such role.
bool addRole(const RoleName& role, Grants* out);
/// The built-in roles that can be granted on this database, sorted by name.
std::vector<std::string_view> rolesOf(std::string_view db);

}  // namespace freshet::command
