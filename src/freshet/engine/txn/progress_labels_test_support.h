// SPDX-License-Identifier: Apache-2.0
/// For the progress test: the labels ([leaf.freeze] and the like) of the atomic operations that
/// threads have executed. Needs llvm-addr2line-16, the program's line tables, and the source text.
#pragma once

#include "freshet/engine/txn/progress_test_support.h"

#include <dlfcn.h>
#include <unistd.h>

#include <fstream>
#include <map>
#include <memory>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace freshet::engine {

/// The labelled comments of some source files.
class Labels {
public:
    /// Of these files, given relative to the folder src/freshet.
    explicit Labels(const std::vector<std::string>& files) {
        for (const std::string& file : files) {
            read(file);
        }
    }
    std::set<std::string> all() const {
        std::set<std::string> out;
        for (const auto& [file, lines] : files_) {
            for (const Line& line : lines) {
                out.insert(line.label);
            }
        }
        out.erase("");
        return out;
    }
    /// The labels of the operations at the places.
    std::set<std::string> at(const std::set<CodePlace>& places) const {
        std::set<std::string> out;
        for (const auto& [file, line] : linesOf(places)) {
            const auto found = files_.find(file);
            if (found != files_.end()) {
                addAbove(found->second, line, &out);
            }
        }
        out.erase("");
        return out;
    }

private:
    static constexpr size_t kReach = 15;  // lines between a label and the end of its operation
    struct Line {
        std::string label;  // the label that begins on this line; usually none
        bool isComment = false;
        bool endsFunction = false;
    };

    void read(const std::string& file) {
        static const std::regex comment(R"(^\s*// (\[([a-z]+\.[a-zA-Z.]+)\])?)");
        std::ifstream text(root() + file);
        std::smatch match;
        for (std::string line; std::getline(text, line);) {
            const bool isComment = std::regex_search(line, match, comment);
            files_[file].push_back(
                {isComment ? match[2].str() : std::string(), isComment, line == "}"});
        }
    }
    /// The labels in the nearest labelled comment above the line.
    static void addAbove(const std::vector<Line>& lines, size_t line, std::set<std::string>* out) {
        size_t i = std::min(line, lines.size());
        while (i > 0 && i + kReach > line && lines[i - 1].label.empty()) {
            if (lines[--i].endsFunction) {
                return;
            }
        }
        for (; i > 0 && i + kReach > line && lines[i - 1].isComment; --i) {
            out->insert(lines[i - 1].label);
        }
    }
    /// The tests run in the root of the source tree, from which this file was compiled.
    static std::string root() {
        const std::string here = __FILE__;
        return here.substr(0, here.find("engine/"));
    }

    /// File and line of each frame, inlined ones included.
    static std::set<std::pair<std::string, size_t>> linesOf(const std::set<CodePlace>& places) {
        Dl_info program;
        static const int here = 0;
        ::dladdr(&here, &program);
        std::set<std::string> addresses;
        for (const CodePlace& place : places) {
            for (void* frame : place.frames) {
                Dl_info info;
                // Not those of libraries: their addresses mean something else in the program.
                if (frame != nullptr && ::dladdr(frame, &info) != 0 &&
                    info.dli_fbase == program.dli_fbase) {
                    std::ostringstream text;  // the address of the call, not of what follows it
                    text << std::hex
                         << static_cast<char*>(frame) - static_cast<char*>(info.dli_fbase) - 1;
                    addresses.insert(text.str());
                }
            }
        }
        std::string command =
            "llvm-addr2line-16 -i -e /proc/" + std::to_string(::getpid()) + "/exe";
        for (const std::string& address : addresses) {
            command += " " + address;
        }
        std::set<std::pair<std::string, size_t>> out;
        const std::unique_ptr<FILE, int (*)(FILE*)> answer(::popen(command.c_str(), "r"), ::pclose);
        std::array<char, 1000> line;
        static const std::regex form(R"(freshet/((?:engine|sync)/[^:]*):(\d+))");
        std::cmatch match;
        while (std::fgets(line.data(), line.size(), answer.get()) != nullptr) {
            if (std::regex_search(line.data(), match, form)) {
                out.emplace(match[1].str(), std::stoul(match[2].str()));
            }
        }
        return out;
    }

    std::map<std::string, std::vector<Line>> files_;
};

}  // namespace freshet::engine
