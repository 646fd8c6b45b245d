// SPDX-License-Identifier: Apache-2.0
/// Finds where a text that begins with a brace ends, in Extended JSON or JavaScript: braces within
/// quotes of any kind, comments and regular expressions do not count.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace freshet::shell {

class BraceFinder {
public:
    /// The bytes up to the brace that closes the first one; 0 when it has not come yet. `text`
    /// starts with the text of earlier calls, which is not scanned again, and ends with a line's
    /// end.
    size_t find(std::string_view text);
    /// The bytes up to `end` without the comments that find() found in them.
    std::string withoutComments(std::string_view text, size_t end) const;

private:
    /// Each continues from at_.
    void plain(std::string_view text);
    /// False: the comment's end is missing.
    bool comment(std::string_view text);
    /// A string or a regular expression, in which a backslash escapes the next byte.
    void escapable(std::string_view text);
    void quoted(char here, std::string_view text);
    void pattern(char here);
    bool beginsPattern() const;

    size_t at_ = 0;
    size_t end_ = 0;
    /// What the next bytes belong to: 0 nothing, a quote, '/' a line comment, '*' a block comment,
    /// 'r' a regular expression.
    char within_ = 0;
    bool isClass_ = false;  // in a regular expression: between [ and ]
    char last_ = 0;         // the last byte outside of all these that is not white space
    size_t commentAt_ = 0;
    std::vector<char> open_;  // '{', or '$' for ${ within a template
    std::vector<std::pair<size_t, size_t>> comments_;
};

}  // namespace freshet::shell
