// SPDX-License-Identifier: Apache-2.0
#include "freshet/server/options/sources.h"

#include <algorithm>

namespace freshet::server {
namespace {

constexpr size_t kVerbosityMax = 5;

Given given(const Option& option, const std::string& value) {
    return {&option,
            option.translate != nullptr ? option.translate(value) : value,
            "--" + std::string(option.flag)};
}

class CommandLine {
public:
    explicit CommandLine(const std::vector<std::string>& words) : words_(words) {}

    StatusOr<std::vector<Given>> read() {
        for (; at_ < words_.size(); ++at_) {
            const std::string& word = words_[at_];
            if (word.starts_with("--") && word.size() > 2) {
                FRESHET_RETURN_IF_ERROR(readLong(word.substr(2)));
            } else if (word.starts_with("-") && word.size() > 1) {
                FRESHET_RETURN_IF_ERROR(readShort(word));
            } else {
                return bad("too many positional options: '" + word + "'");
            }
        }
        return std::move(found_);
    }

private:
    Status readLong(const std::string& word) {
        const size_t equals = word.find('=');
        const std::string name = word.substr(0, equals);
        const Option* option = findFlag(name);
        if (option == nullptr) {
            return bad("unrecognised option '--" + name + "'");
        }
        if (!option->takesValue()) {
            if (equals != std::string::npos) {
                return bad("option '--" + name + "' does not take any arguments");
            }
            found_.push_back(given(*option, std::string(option->implied)));
            return Status::ok();
        }
        if (equals != std::string::npos) {
            found_.push_back(given(*option, word.substr(equals + 1)));
            return Status::ok();
        }
        return takeNext(*option);
    }

    Status readShort(const std::string& word) {
        if (word == "-h") {
            found_.push_back(given(*findFlag("help"), "true"));
            return Status::ok();
        }
        if (word == "-f") {
            return takeNext(*findFlag("config"));
        }
        const bool isVerbosity =
            word.size() <= 1 + kVerbosityMax && word.find_first_not_of('v', 1) == std::string::npos;
        if (!isVerbosity) {
            return bad("unrecognised option '" + word + "'");
        }
        found_.push_back(given(*findFlag("verbose"), std::to_string(word.size() - 1)));
        return Status::ok();
    }

    Status takeNext(const Option& option) {
        if (at_ + 1 >= words_.size()) {
            return bad("the required argument for option '--" + std::string(option.flag) +
                       "' is missing");
        }
        found_.push_back(given(option, words_[++at_]));
        return Status::ok();
    }

    const std::vector<std::string>& words_;
    size_t at_ = 0;
    std::vector<Given> found_;
};

}  // namespace

StatusOr<std::vector<Given>> readCommandLine(const std::vector<std::string>& arguments) {
    return CommandLine(arguments).read();
}

}  // namespace freshet::server
