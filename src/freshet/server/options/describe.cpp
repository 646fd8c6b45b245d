// SPDX-License-Identifier: Apache-2.0
#include "freshet/server/options/describe.h"

#include "freshet/server/options/options.h"
#include "freshet/server/options/values.h"

#include <map>

namespace freshet::server {
namespace {

constexpr size_t kHelpColumn = 33;
constexpr size_t kHelpWidth = 80;

struct Value {
    ValueKind kind;
    std::string text;
};
/// By path with a dot at the end, so that the options of a section are adjacent.
using Values = std::map<std::string, Value>;

void addValue(std::string_view name, const Value& value, bson::Builder* out) {
    if (value.kind == ValueKind::kBool) {
        out->add(name, value.text == "true");
    } else if (auto whole = wholeNumber(value.text, 0, INT64_MAX, true);
               value.kind == ValueKind::kInt && whole.isOk()) {
        *whole <= INT32_MAX ? out->add(name, static_cast<int32_t>(*whole))
                            : out->add(name, static_cast<int64_t>(*whole));
    } else if (auto real = realNumber(value.text, -1e300, 1e300);
               value.kind == ValueKind::kReal && real.isOk()) {
        out->add(name, *real);
    } else {
        out->add(name, value.text);
    }
}

/// Adds the values below `prefix`, starting at `at`.
void addSection(Values::const_iterator* at,
                Values::const_iterator end,
                const std::string& prefix,
                bson::Builder* out) {
    while (*at != end && (*at)->first.starts_with(prefix)) {
        const std::string rest = (*at)->first.substr(prefix.size());
        const std::string name = rest.substr(0, rest.find('.'));
        if (rest.size() == name.size() + 1) {
            addValue(name, (*at)->second, out);
            ++*at;
        } else {
            auto inner = out->object(name);
            addSection(at, end, prefix + name + ".", &inner);
        }
    }
}

std::string wrapped(std::string_view text) {
    std::string out;
    size_t column = kHelpColumn;
    while (!text.empty()) {
        const std::string_view word = text.substr(0, text.find(' '));
        if (column != kHelpColumn && column + 1 + word.size() > kHelpWidth) {
            out += "\n" + std::string(kHelpColumn, ' ');
            column = kHelpColumn;
        } else if (column != kHelpColumn) {
            out += ' ';
            ++column;
        }
        out += word;
        column += word.size();
        text.remove_prefix(std::min(text.size(), word.size() + 1));
    }
    return out;
}

}  // namespace

bson::OwnedDocument describe(const std::vector<Given>& given) {
    Values values;
    for (const Given& one : given) {
        const Option& option = *one.option;
        const bool fromFile = !one.label.starts_with("--");
        std::string path(fromFile ? one.label : option.path.empty() ? option.flag : option.path);
        Value value{option.kind, one.value};
        if (option.kind == ValueKind::kPairs) {
            const size_t equals = one.value.find('=');
            path += fromFile ? "" : "." + one.value.substr(0, equals);
            value = {ValueKind::kText, one.value.substr(equals + 1)};
        } else if (path == "systemLog.path") {
            values["systemLog.destination."] = {ValueKind::kText, "file"};
        } else if (path == "net.tls.certificateKeyFilePassword") {
            value.text = "<password>";
        } else if (option.effect != Effect::kServed && value.text.empty()) {
            continue;
        }
        values[path + "."] = std::move(value);
    }
    bson::Builder out;
    auto at = values.cbegin();
    addSection(&at, values.cend(), "", &out);
    return bson::OwnedDocument(out.finish());
}

std::string helpText() {
    std::string out = "Usage: freshetd [options]\n\nOptions:\n";
    for (const Option& option : optionTable()) {
        if (option.flag.empty() || option.effect != Effect::kServed) {
            continue;
        }
        std::string line = "  --" + std::string(option.flag) + (option.takesValue() ? " arg" : "");
        if (line.size() + 1 > kHelpColumn) {
            out += line + "\n";
            line.clear();
        }
        line.append(kHelpColumn - line.size(), ' ');
        out += line + wrapped(option.help) + "\n";
    }
    out += "\nOptions of mongod that are accepted and have no effect:\n";
    for (const Option& option : optionTable()) {
        if (!option.flag.empty() && option.effect == Effect::kIgnored) {
            out += "  --" + std::string(option.flag) + "\n";
        }
    }
    return out;
}

}  // namespace freshet::server
