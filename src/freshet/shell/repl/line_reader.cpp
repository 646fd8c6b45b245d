// SPDX-License-Identifier: Apache-2.0
#include "freshet/shell/repl/line_reader.h"

#include <histedit.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <istream>
#include <regex>

namespace freshet::shell {

namespace {

constexpr size_t kColumns = 80;  // of a terminal that does not tell

class StreamReader final : public LineReader {
public:
    explicit StreamReader(std::istream& in) : in_(in) {}
    Result read(const std::string&, std::string* line) override {
        return std::getline(in_, *line) ? Result::kLine : Result::kEnd;
    }

private:
    std::istream& in_;
};

class TerminalReader final : public LineReader {
public:
    explicit TerminalReader(TerminalOptions options)
        : options_(std::move(options)),
          history_(history_init()),
          edit_(el_init("freshet", stdin, stdout, stderr)) {
        if (!isReady()) {
            return;
        }
        HistEvent event;
        history(history_, &event, H_SETSIZE, options_.remembered("").linesMax);
        history(history_, &event, H_SETUNIQUE, 1);
        el_set(edit_, EL_CLIENTDATA, this);
        el_set(edit_, EL_PROMPT, &TerminalReader::promptOf);
        el_set(edit_, EL_EDITOR, "emacs");
        el_set(edit_, EL_HIST, history, history_);
        // While a line is edited, Ctrl-C is an ordinary key, not a signal.
        el_set(edit_, EL_ADDFN, "freshet-interrupt", "drop the command", &TerminalReader::onCtrlC);
        el_set(edit_, EL_BIND, "^C", "freshet-interrupt", nullptr);
        el_set(edit_, EL_SETTY, "-d", "-isig", nullptr);
        el_set(edit_, EL_ADDFN, "freshet-complete", "complete the word", &TerminalReader::onTab);
        el_set(edit_, EL_BIND, "^I", "freshet-complete", nullptr);
        el_set(edit_, EL_BIND, "^R", "em-inc-search-prev", nullptr);
        el_source(edit_, nullptr);
        if (!options_.historyPath.empty()) {
            history(history_, &event, H_LOAD, options_.historyPath.c_str());
        }
    }
    ~TerminalReader() override {
        if (edit_ != nullptr) {
            el_end(edit_);
        }
        if (history_ != nullptr) {
            history_end(history_);
        }
    }
    TerminalReader(const TerminalReader&) = delete;
    TerminalReader& operator=(const TerminalReader&) = delete;

    bool isReady() const { return edit_ != nullptr && history_ != nullptr; }

    Result read(const std::string& prompt, std::string* line) override {
        prompt_ = prompt;
        interrupted_ = false;
        int bytes = 0;
        // Before the prompt is shown: libedit shows it first, and a key pressed between the two
        // would be handled by the terminal.
        el_set(edit_, EL_PREP_TERM, 1);
        const char* text = el_gets(edit_, &bytes);
        if (interrupted_) {
            std::fputs("^C\n", stdout);
            return Result::kInterrupted;
        }
        if (text == nullptr || bytes <= 0) {
            std::fputs("\n", stdout);
            return Result::kEnd;
        }
        line->assign(text, static_cast<size_t>(bytes));
        remember(*line);
        line->erase(line->find_last_not_of("\r\n") + 1);
        return Result::kLine;
    }

private:
    void remember(const std::string& line) {
        const auto [text, linesMax] = options_.remembered(line);
        if (text.find_first_not_of(" \t\r\n") == std::string::npos) {
            return;
        }
        HistEvent event;
        history(history_, &event, H_SETSIZE, linesMax);
        history(history_, &event, H_ENTER, text.c_str());
        if (!options_.historyPath.empty()) {
            const mode_t before = umask(S_IRWXG | S_IRWXO);  // readable by the owner only
            history(history_, &event, H_SAVE, options_.historyPath.c_str());
            umask(before);
        }
    }

    /// Inserts the common prefix of all candidates, or lists them.
    unsigned char complete() {
        const LineInfo* info = el_line(edit_);
        const std::string before(info->buffer, info->cursor);
        const std::vector<std::string> words =
            options_.complete ? options_.complete(before) : std::vector<std::string>();
        if (words.size() < 2) {
            return CC_REFRESH_BEEP;
        }
        const size_t typed = words[0].size();
        std::string common = words[1];
        for (size_t at = 2; at < words.size(); ++at) {
            const auto end =
                std::mismatch(common.begin(), common.end(), words[at].begin(), words[at].end());
            common.erase(end.first, common.end());
        }
        if (common.size() > typed) {
            el_insertstr(edit_, common.c_str() + typed);
            return CC_REFRESH;
        }
        winsize size{};
        const bool isKnown = ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
        const std::string text =
            inColumns({words.begin() + 1, words.end()}, isKnown ? size.ws_col : kColumns);
        std::fprintf(stdout, "\n%s", text.c_str());
        return CC_REDISPLAY;
    }

    static unsigned char onTab(EditLine* edit, int) { return self(edit).complete(); }
    static TerminalReader& self(EditLine* edit) {
        void* reader = nullptr;
        el_get(edit, EL_CLIENTDATA, &reader);
        return *static_cast<TerminalReader*>(reader);
    }
    static char* promptOf(EditLine* edit) { return self(edit).prompt_.data(); }
    static unsigned char onCtrlC(EditLine* edit, int) {
        self(edit).interrupted_ = true;
        return CC_EOF;
    }

    const TerminalOptions options_;
    History* history_;
    EditLine* edit_;
    std::string prompt_;
    bool interrupted_ = false;
};

}  // namespace

std::unique_ptr<LineReader> makeStreamReader(std::istream& in) {
    return std::make_unique<StreamReader>(in);
}

std::unique_ptr<LineReader> makeTerminalReader(TerminalOptions options) {
    auto reader = std::make_unique<TerminalReader>(std::move(options));
    return reader->isReady() ? std::move(reader) : nullptr;
}

std::string inColumns(const std::vector<std::string>& words, size_t room) {
    size_t width = 0;
    for (const std::string& word : words) {
        width = std::max(width, word.size() + 2);
    }
    const size_t columns = std::max<size_t>(1, (room + 2) / std::max<size_t>(1, width));
    const size_t rows = (words.size() + columns - 1) / columns;
    std::string text;
    for (size_t row = 0; row < rows; ++row) {
        for (size_t at = row; at < words.size(); at += rows) {
            const bool isLast = at + rows >= words.size();
            text += words[at] + (isLast ? "\n" : std::string(width - words[at].size(), ' '));
        }
    }
    return text;
}

bool holdsSecret(const std::string& line) {
    static const std::regex kSecret(
        "\\b(auth|createUser|updateUser|changeUserPassword|pwd|password|passwordPrompt|saslStart|"
        "saslContinue|connect|Mongo)\\b|mongodb(\\+srv)?://[^/\\s]*@",
        std::regex::icase);
    return std::regex_search(line, kSecret);
}

}  // namespace freshet::shell
