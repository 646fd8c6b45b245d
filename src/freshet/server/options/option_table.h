// SPDX-License-Identifier: Apache-2.0
/// Every option the server knows, one row each: its flag, its path in a configuration file, what it
/// does. Names are mongod's where it has the option, so that its configuration files can be used.
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
    kPairs,  // name=value, may be repeated; in a file a mapping
};

enum class Effect : uint8_t {
    kServed,
    kIgnored,  // mongod has it, we do not need it: noted at the start. Covers the options below it.
    kRefused,  // mongod has it; ignoring it would mislead the operator
};

struct Option {
    std::string_view flag;  // without dashes; empty: only in files
    std::string_view path;  // in files; empty: only on the command line
    ValueKind kind;
    Effect effect;
    /// The value when the flag is given without one; empty: it needs a value.
    std::string_view implied;
    std::string_view help;  // for --help; for ignored and refused options the reason
    /// Puts the value, which has the form of `kind`, into the settings. An error's text says what
    /// would be valid.
    Status (*apply)(const std::string& value, Settings* out) = nullptr;
    /// Converts the flag's form of the value to the file's. Null: they are the same.
    std::string (*translate)(const std::string& value) = nullptr;

    bool takesValue() const { return implied.empty(); }
};

const std::vector<Option>& optionTable();
/// Null: no such flag.
const Option* findFlag(std::string_view flag);
/// The option at a path in a file, or the ignored or refused one that covers it.
const Option* findPath(std::string_view path);
/// Whether there are options below this path.
bool isSection(std::string_view path);

/// An option as given.
struct Given {
    const Option* option = nullptr;
    std::string value;
    std::string label;  // "--port" or "net.port", for error texts
};

}  // namespace freshet::server
