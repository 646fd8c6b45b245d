// SPDX-License-Identifier: Apache-2.0
#include "freshet/shell/host/editor.h"

#include "freshet/shell/host/arguments.h"
#include "freshet/shell/host/files.h"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>

extern char** environ;

namespace freshet::shell {

namespace {

using script::Value;

Status failedWith(const std::string& what) {
    return Status(Code::kIo, what + ": " + std::strerror(errno));
}

/// A file that only its owner may read, removed with this object.
class PrivateFile {
public:
    explicit PrivateFile(const std::string& text) {
        const char* folder = std::getenv("TMPDIR");
        path_ = std::string(folder == nullptr || *folder == '\0' ? "/tmp" : folder) +
                "/freshet-edit-XXXXXX.js";
        constexpr int kSuffixBytes = 3;
        const int file = ::mkstemps(path_.data(), kSuffixBytes);
        isWritten_ = file >= 0 &&
                     ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
        if (file >= 0) {
            ::close(file);
        }
    }
    ~PrivateFile() { ::unlink(path_.c_str()); }
    PrivateFile(const PrivateFile&) = delete;
    PrivateFile& operator=(const PrivateFile&) = delete;

    bool isWritten() const { return isWritten_; }
    std::string& path() { return path_; }

private:
    std::string path_;
    bool isWritten_ = false;
};

/// The editor may have arguments, as in "code --wait": a system shell parses it.
Status runEditor(const std::string& editor, std::string& path) {
    std::string shell = "sh", flag = "-c", script = editor + " \"$1\"", name = "edit";
    char* words[] = {shell.data(), flag.data(), script.data(), name.data(), path.data(), nullptr};
    pid_t child = 0;
    if (const int error = posix_spawnp(&child, "sh", nullptr, nullptr, words, environ);
        error != 0) {
        return Status(Code::kIo, std::string("sh: ") + std::strerror(error));
    }
    int status = 0;
    while (::waitpid(child, &status, 0) < 0) {
        if (errno != EINTR) {
            return failedWith(editor);
        }
    }
    return WIFEXITED(status) && WEXITSTATUS(status) == 0
               ? Status::ok()
               : Status(Code::kIo, editor + " ended with an error; nothing is run");
}

/// edit(editor, text): the edited text.
StatusOr<Value> edit(bson::Document arguments) {
    PrivateFile file(textAt(arguments, 1));
    if (!file.isWritten()) {
        return failedWith(file.path());
    }
    FRESHET_RETURN_IF_ERROR(runEditor(textAt(arguments, 0), file.path()));
    FRESHET_ASSIGN_OR_RETURN(const std::string text, readFile(file.path()));
    return Value::of(text);
}

}  // namespace

Status defineEditor(script::Context& context) {
    return context.define("edit", &edit);
}

}  // namespace freshet::shell
