// SPDX-License-Identifier: Apache-2.0
#include "freshet/shell/repl/line_reader.h"

#include <histedit.h>

#include <cstdio>
#include <istream>

namespace freshet::shell {

namespace {

constexpr int kHistoryLines = 1000;

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
    TerminalReader() : history_(history_init()), edit_(el_init("freshet", stdin, stdout, stderr)) {
        if (!isReady()) {
            return;
        }
        HistEvent event;
        history(history_, &event, H_SETSIZE, kHistoryLines);
        history(history_, &event, H_SETUNIQUE, 1);
        el_set(edit_, EL_CLIENTDATA, this);
        el_set(edit_, EL_PROMPT, &TerminalReader::promptOf);
        el_set(edit_, EL_EDITOR, "emacs");
        el_set(edit_, EL_HIST, history, history_);
        // While a line is edited Ctrl-C is a key like others, not a signal.
        el_set(edit_, EL_ADDFN, "freshet-interrupt", "drop the command", &TerminalReader::onCtrlC);
        el_set(edit_, EL_BIND, "^C", "freshet-interrupt", nullptr);
        el_set(edit_, EL_SETTY, "-d", "-isig", nullptr);
        el_source(edit_, nullptr);
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
        if (line->find_first_not_of(" \t\r\n") != std::string::npos) {
            HistEvent event;
            history(history_, &event, H_ENTER, line->c_str());
        }
        line->erase(line->find_last_not_of("\r\n") + 1);
        return Result::kLine;
    }

private:
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

    History* history_;
    EditLine* edit_;
    std::string prompt_;
    bool interrupted_ = false;
};

}  // namespace

std::unique_ptr<LineReader> makeStreamReader(std::istream& in) {
    return std::make_unique<StreamReader>(in);
}

std::unique_ptr<LineReader> makeTerminalReader() {
    auto reader = std::make_unique<TerminalReader>();
    return reader->isReady() ? std::move(reader) : nullptr;
}

}  // namespace freshet::shell
