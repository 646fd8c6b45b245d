// SPDX-License-Identifier: Apache-2.0
/// Where lines of commands come from: a terminal with editing and history, or a stream.
#pragma once

#include <iosfwd>
#include <memory>
#include <string>

namespace freshet::shell {

class LineReader {
public:
    enum class Result : uint8_t { kLine, kEnd, kInterrupted };

    virtual ~LineReader() = default;
    /// One line without its end. `prompt` is shown on a terminal only.
    virtual Result read(const std::string& prompt, std::string* line) = 0;
};

/// `in` must outlive the reader.
std::unique_ptr<LineReader> makeStreamReader(std::istream& in);
/// Standard input and output through libedit; null when it cannot be used. Ctrl-C while editing
/// gives kInterrupted.
std::unique_ptr<LineReader> makeTerminalReader();

}  // namespace freshet::shell
