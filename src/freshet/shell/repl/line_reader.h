// SPDX-License-Identifier: Apache-2.0
/// Sources of command lines: a terminal with editing and history, or a stream.
#pragma once

#include <functional>
#include <iosfwd>
#include <memory>
#include <string>
#include <vector>

namespace freshet::shell {

class LineReader {
public:
    enum class Result : uint8_t { kLine, kEnd, kInterrupted };

    virtual ~LineReader() = default;
    /// Reads one line, without its end. `prompt` is shown on a terminal only.
    virtual Result read(const std::string& prompt, std::string* line) = 0;
};

/// `in` must outlive the reader.
std::unique_ptr<LineReader> makeStreamReader(std::istream& in);

/// What to put into the history for a line, and how many lines to keep.
struct Remembered {
    std::string text;  // empty: nothing
    int linesMax;
};
struct TerminalOptions {
    /// The history's file; empty: there is none.
    std::string historyPath;
    /// Called for each line, and once with an empty one when the history is read.
    std::function<Remembered(const std::string&)> remembered;
    /// Completions of the text before the cursor: first the word to be completed, then its possible
    /// replacements.
    std::function<std::vector<std::string>(const std::string&)> complete;
};
/// Standard input and output through libedit; null when it cannot be used. Ctrl-C while editing
/// returns kInterrupted.
std::unique_ptr<LineReader> makeTerminalReader(TerminalOptions options);

/// Words below each other, in as many columns as fit into lines of `room` letters.
std::string inColumns(const std::vector<std::string>& words, size_t room);

/// Whether a line may hold a password and so is not remembered unless the user wants it.
bool holdsSecret(const std::string& line);

}  // namespace freshet::shell
