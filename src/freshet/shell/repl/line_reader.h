// SPDX-License-Identifier: Apache-2.0
/// Where lines of commands come from: a terminal with editing and history, or a stream.
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
    /// One line without its end. `prompt` is shown on a terminal only.
    virtual Result read(const std::string& prompt, std::string* line) = 0;
};

/// `in` must outlive the reader.
std::unique_ptr<LineReader> makeStreamReader(std::istream& in);

/// What to remember of a line, and of how many.
struct Remembered {
    std::string text;  // empty: nothing
    int linesMax;
};
struct TerminalOptions {
    /// Lines are remembered here from session to session; empty: they are not.
    std::string historyPath;
    /// Asked for each line, and once for an empty one when the history is read.
    std::function<Remembered(const std::string&)> remembered;
    /// What the text before the cursor may go on to: first the word that is completed, then the
    /// words that it may become.
    std::function<std::vector<std::string>(const std::string&)> complete;
};
/// Standard input and output through libedit; null when it cannot be used. Ctrl-C while editing
/// gives kInterrupted.
std::unique_ptr<LineReader> makeTerminalReader(TerminalOptions options);

/// Whether a line may hold a password and so is not remembered unless the user wants it.
bool holdsSecret(const std::string& line);

}  // namespace freshet::shell
