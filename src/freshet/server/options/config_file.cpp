// SPDX-License-Identifier: Apache-2.0
#include "freshet/server/options/sources.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>

namespace freshet::server {
namespace {

constexpr uint64_t kFileBytesMax = 1 << 20;
constexpr int kDepthMax = 16;

/// YAML's other spellings of booleans, for options that take one.
std::string plainTruth(const Option& option, const std::string& value) {
    bool truth = false;
    const bool isTruth =
        option.kind == ValueKind::kBool && YAML::convert<bool>::decode(YAML::Node(value), truth);
    return isTruth ? (truth ? "true" : "false") : value;
}

class ConfigReader {
public:
    /// `path` of the mapping, empty at the top. May throw YAML::Exception.
    Status readMapping(const YAML::Node& mapping, const std::string& path, int depth) {
        if (depth > kDepthMax) {
            return bad(path + " is nested too deeply");
        }
        for (const auto& entry : mapping) {
            const std::string name = entry.first.as<std::string>();
            FRESHET_RETURN_IF_ERROR(
                readEntry(entry.second, path.empty() ? name : path + "." + name, depth));
        }
        return Status::ok();
    }

    std::vector<Given> found;

private:
    Status readEntry(const YAML::Node& value, const std::string& path, int depth) {
        const Option* option = findPath(path);
        if (option != nullptr && option->effect == Effect::kServed &&
            option->kind == ValueKind::kPairs) {
            return readPairs(value, *option, path, depth);
        }
        if (value.IsNull() && (option != nullptr || isSection(path))) {
            return Status::ok();  // a heading whose entries are commented out
        }
        if (value.IsMap() && isSection(path)) {
            return readMapping(value, path, depth + 1);
        }
        if (option == nullptr) {
            return bad(isSection(path) ? path + " must be a mapping"
                                       : "Unrecognized option: " + path);
        }
        if (option->effect == Effect::kServed && !value.IsScalar()) {
            return bad(path + " must be a single value");
        }
        found.push_back(
            {option, value.IsScalar() ? plainTruth(*option, value.Scalar()) : "given", path});
        return Status::ok();
    }

    /// Reads a mapping of names to values; nested names are joined by dots.
    Status readPairs(const YAML::Node& value,
                     const Option& option,
                     const std::string& path,
                     int depth) {
        if (depth > kDepthMax) {
            return bad(path + " is nested too deeply");
        }
        if (value.IsNull()) {
            return Status::ok();
        }
        if (value.IsMap()) {
            for (const auto& entry : value) {
                FRESHET_RETURN_IF_ERROR(readPairs(
                    entry.second, option, path + "." + entry.first.as<std::string>(), depth + 1));
            }
            return Status::ok();
        }
        if (!value.IsScalar() || path.size() <= option.path.size()) {
            return bad(path + " must be a mapping of names to values");
        }
        found.push_back(
            {&option, path.substr(option.path.size() + 1) + "=" + value.Scalar(), path});
        return Status::ok();
    }
};

}  // namespace

StatusOr<std::vector<Given>> readConfigText(const std::string& text) {
    try {
        const YAML::Node root = YAML::Load(text);
        ConfigReader reader;
        if (root.IsNull()) {
            return reader.found;
        }
        if (!root.IsMap()) {
            return bad("this is no YAML that consists of sections");
        }
        FRESHET_RETURN_IF_ERROR(reader.readMapping(root, "", 0));
        return std::move(reader.found);
    } catch (const YAML::Exception& error) {
        return bad(std::string("this is no YAML: ") + error.what());
    }
}

StatusOr<std::vector<Given>> readConfigFile(platform::FileSystem& files, const std::string& path) {
    auto file = files.open(path, platform::OpenMode::kRead);
    if (!file.isOk()) {
        return file.status();
    }
    std::string text(kFileBytesMax + 1, '\0');
    auto got = (*file)->pread(text.data(), text.size(), 0);
    if (!got.isOk()) {
        return got.status();
    }
    if (*got > kFileBytesMax) {
        return bad("it is larger than 1 MiB");
    }
    text.resize(*got);
    return readConfigText(text);
}

}  // namespace freshet::server
