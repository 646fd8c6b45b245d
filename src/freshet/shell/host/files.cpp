// SPDX-License-Identifier: Apache-2.0
#include "freshet/shell/host/files.h"

#include "freshet/security/md5.h"
#include "freshet/shell/host/arguments.h"

#include <filesystem>
#include <fstream>
#include <sstream>

namespace freshet::shell {

namespace {

namespace fs = std::filesystem;
using script::Value;

constexpr uint64_t kFileBytesMax = 512u << 20;

Status failedWith(const std::string& path, const std::error_code& error) {
    return Status(error == std::errc::no_such_file_or_directory ? Code::kNotFound : Code::kIo,
                  path + ": " + error.message());
}

StatusOr<Value> read(bson::Document arguments) {
    FRESHET_ASSIGN_OR_RETURN(const std::string text, readFile(textAt(arguments, 0)));
    return Value::of(text);
}

StatusOr<Value> write(bson::Document arguments) {
    const std::string path = textAt(arguments, 0);
    std::ofstream out(path, std::ios::binary | std::ios::trunc);
    out << textAt(arguments, 1);
    out.close();
    return out ? StatusOr<Value>(Value()) : Status(Code::kIo, path + ": cannot be written");
}

StatusOr<Value> exists(bson::Document arguments) {
    std::error_code error;
    return Value::of(fs::exists(textAt(arguments, 0), error));
}

StatusOr<Value> list(bson::Document arguments) {
    const std::string path = textAt(arguments, 0);
    std::error_code error;
    fs::directory_iterator entries(path, error);
    if (error) {
        return failedWith(path, error);
    }
    bson::Builder holder;
    {
        bson::Builder all = holder.array("");
        for (const fs::directory_entry& entry : entries) {
            std::error_code ignored;
            bson::Builder each = all.object(all.nextIndex());
            each.add("name", entry.path().string());
            each.add("baseName", entry.path().filename().string());
            each.add("isDirectory", entry.is_directory(ignored));
            if (entry.is_regular_file(ignored)) {
                each.add("size", static_cast<double>(entry.file_size(ignored)));
            }
        }
    }
    return Value(bson::OwnedDocument(holder.finish()));
}

/// Returns whether the folder is new.
StatusOr<Value> makeFolder(bson::Document arguments) {
    const std::string path = textAt(arguments, 0);
    std::error_code error;
    const bool made = fs::create_directories(path, error);
    return error ? StatusOr<Value>(failedWith(path, error)) : Value::of(made);
}

StatusOr<Value> remove(bson::Document arguments) {
    const std::string path = textAt(arguments, 0);
    std::error_code error;
    const bool gone = fs::remove_all(path, error) > 0;
    return error ? StatusOr<Value>(failedWith(path, error)) : Value::of(gone);
}

StatusOr<Value> md5OfFile(bson::Document arguments) {
    FRESHET_ASSIGN_OR_RETURN(const std::string bytes, readFile(textAt(arguments, 0)));
    security::Md5 digest;
    digest.add(ByteView(bytes.data(), bytes.size()));
    return Value::of(digest.finish());
}

StatusOr<Value> currentFolder(bson::Document) {
    std::error_code error;
    return Value::of(fs::current_path(error).string());
}

StatusOr<Value> changeFolder(bson::Document arguments) {
    const std::string path = textAt(arguments, 0);
    std::error_code error;
    fs::current_path(path, error);
    return error ? StatusOr<Value>(failedWith(path, error)) : Value();
}

}  // namespace

StatusOr<std::string> readFile(const std::string& path) {
    std::error_code error;
    const uint64_t bytes = fs::file_size(path, error);
    if (error) {
        return failedWith(path, error);
    }
    if (bytes > kFileBytesMax) {
        return Status(Code::kLimit, path + ": larger than a script may read");
    }
    std::ifstream in(path, std::ios::binary);
    std::ostringstream text;
    text << in.rdbuf();
    return in ? StatusOr<std::string>(text.str()) : Status(Code::kIo, path + ": cannot be read");
}

Status defineFiles(script::Context& context) {
    struct Named {
        const char* name;
        StatusOr<Value> (*function)(bson::Document);
    };
    constexpr Named kFunctions[] = {
        {"readFile", &read},
        {"writeFile", &write},
        {"fileExists", &exists},
        {"listFiles", &list},
        {"makeFolder", &makeFolder},
        {"removeFile", &remove},
        {"md5OfFile", &md5OfFile},
        {"currentFolder", &currentFolder},
        {"changeFolder", &changeFolder},
    };
    for (const Named& named : kFunctions) {
        FRESHET_RETURN_IF_ERROR(context.define(named.name, named.function));
    }
    return Status::ok();
}

}  // namespace freshet::shell
