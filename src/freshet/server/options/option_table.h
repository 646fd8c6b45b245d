// SPDX-License-Identifier: Apache-2.0
/// Every option the server knows, one row each: its flag, its place in a configuration file, what
/// it does. Names are mongod's where it has the option, so that its configuration files load.
#pragma once

#include "freshet/base/status.h"
#include "freshet/server/options/settings.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace freshet::server {

enum class ValueKind : uint8_t {
    kBool,   // true, false
    kInt,    //
    kReal,   //
    kText,   //
    kPairs,  // name=value, may be given again; in a file a mapping
};

enum class Effect : uint8_t {
    kServed,
    kIgnored,  // mongod knows it, we do not need it: noted at the start. Covers what lies below.
    kRefused,  // mongod knows it, and to go on without it would deceive
};

struct Option {
    std::string_view flag;  // without dashes; empty: in files only
    std::string_view path;  // in files; empty: on the command line only
    ValueKind kind;
    Effect effect;
    /// What the flag alone means; empty: it takes a value.
    std::string_view implied;
    std::string_view help;  // for --help; of ignored and refused ones the reason
    /// Puts the value, which has the form of `kind`, into the settings. The text of a refusal says
    /// what would be right.
    Status (*apply)(const std::string& value, Settings* out) = nullptr;
    /// From the flag's form of the value to the file's. Null: the same.
    std::string (*translate)(const std::string& value) = nullptr;

    bool takesValue() const { return implied.empty(); }
};

const std::vector<Option>& optionTable();
/// Null: there is none.
const Option* findFlag(std::string_view flag);
/// The option at a path of a file, or the ignored or refused one that covers it.
const Option* findPath(std::string_view path);
/// Whether there are options below it.
bool isSection(std::string_view path);

/// An option as given.
struct Given {
    const Option* option = nullptr;
    std::string value;
    std::string label;  // "--port" or "net.port", for texts
};

}  // namespace freshet::server
