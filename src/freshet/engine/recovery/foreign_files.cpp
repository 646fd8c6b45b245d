// SPDX-License-Identifier: Apache-2.0
#include "freshet/engine/recovery/foreign_files.h"

#include "freshet/engine/recovery/directory_mark.h"
#include "freshet/engine/recovery/identity.h"
#include "freshet/engine/recovery/identity_format.h"

#include <algorithm>
#include <string_view>
#include <vector>

namespace freshet::engine {
namespace {

/// Patterns match a whole name, its beginning or its end: "x", "x*", "*x".
bool fitsPattern(std::string_view name, std::string_view pattern) {
    if (pattern.ends_with('*')) {
        return name.starts_with(pattern.substr(0, pattern.size() - 1));
    }
    return pattern.starts_with('*') ? name.ends_with(pattern.substr(1)) : name == pattern;
}

struct KnownProgram {
    std::string_view program;
    std::string_view advice;
    std::vector<std::string_view> patterns;
};

constexpr std::string_view kDumpFirst = "Its own tools export the data";

/// Programs whose files are easy to recognize.
const std::vector<KnownProgram>& knownPrograms() {
    static const std::vector<KnownProgram> known = {
        {"MongoDB",
         "Its data files cannot be read by this server: run mongodump against the server that "
         "wrote "
         "them and mongorestore against this one",
         {"WiredTiger*", "*.wt", "storage.bson", "mongod.lock", "diagnostic.data"}},
        {"PostgreSQL", kDumpFirst, {"PG_VERSION", "pg_*", "postgresql.auto.conf"}},
        {"RocksDB or LevelDB", kDumpFirst, {"MANIFEST-*", "*.sst", "*.ldb", "OPTIONS-*"}},
        {"MySQL or MariaDB", kDumpFirst, {"ibdata*", "ib_logfile*", "*.ibd", "aria_log*"}},
        {"Redis", kDumpFirst, {"dump.rdb", "appendonly*"}},
        {"LMDB", kDumpFirst, {"data.mdb", "lock.mdb"}},
        {"SQLite", kDumpFirst, {"*.sqlite", "*.sqlite3", "*.db"}},
    };
    return known;
}

/// Files that may lie beside a store, or were left by a store whose creation was interrupted.
bool isHarmless(std::string_view name) {
    static const std::vector<std::string_view> patterns = {
        ".*",     "lost+found", "freshetd*", "freshet.*", kRepairMark, kNoJournalMark,
        "_tmp",   "core",       "core.*",    "*.pid",     "*.log",     "*.out",
        "*.err",  "*.sock",     "*.conf",    "*.cfg",     "*.yaml",    "*.yml",
        "*.json", "*.pem",      "*.crt",     "*.cer",     "*.key",     "*.csr",
        "*.srl",  "*.txt",      "README*",   "keyfile",   "*-keyfile"};
    const bool isRotatedLog = name.find(".log.") != std::string_view::npos;
    return isRotatedLog || std::any_of(patterns.begin(), patterns.end(), [&](std::string_view p) {
               return fitsPattern(name, p);
           });
}

const KnownProgram* programOf(std::string_view name) {
    for (const KnownProgram& known : knownPrograms()) {
        if (std::any_of(known.patterns.begin(), known.patterns.end(), [&](std::string_view p) {
                return fitsPattern(name, p);
            })) {
            return &known;
        }
    }
    return nullptr;
}

bool isOurs(std::string_view name) {
    return name == kIdentityFile || "/" + std::string(name) == kDataFile;
}

Status refuse(const std::string& directory, const std::string& name, const KnownProgram* known) {
    std::string text = directory + " has no data of this server, but other files: " + name;
    if (known != nullptr) {
        text += ", which seems to be from " + std::string(known->program) + ". " +
                std::string(known->advice);
    }
    return Status(Code::kInvalid,
                  text +
                      ". Choose an empty directory, or begin beside these files with "
                      "--allowForeignFiles");
}

}  // namespace

Status checkForeignFiles(platform::FileSystem& files, const std::string& directory) {
    FRESHET_ASSIGN_OR_RETURN(const std::vector<std::string> names, files.list(directory));
    if (std::any_of(names.begin(), names.end(), isOurs)) {
        return Status::ok();
    }
    for (const std::string& name : names) {
        if (const KnownProgram* known = programOf(name); known != nullptr) {
            return refuse(directory, name, known);
        }
    }
    const auto other = std::find_if_not(names.begin(), names.end(), isHarmless);
    return other == names.end() ? Status::ok() : refuse(directory, *other, nullptr);
}

}  // namespace freshet::engine
