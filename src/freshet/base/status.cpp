// SPDX-License-Identifier: Apache-2.0
#include "freshet/base/status.h"

#include "freshet/base/cut_text.h"

namespace freshet {
namespace {

/// Limit of a text: what it quotes may be as long as a message. Longer texts are cut here, wherever
/// they are used: in a reply, a log line, the profile.
constexpr size_t kTextBytesMax = 4096;

}  // namespace

std::string_view codeName(Code code) {
    switch (code) {
        case Code::kOk:
            return "Ok";
        case Code::kInvalid:
            return "Invalid";
        case Code::kNotFound:
            return "NotFound";
        case Code::kExists:
            return "Exists";
        case Code::kConflict:
            return "Conflict";
        case Code::kWouldBlock:
            return "WouldBlock";
        case Code::kCorruption:
            return "Corruption";
        case Code::kIo:
            return "Io";
        case Code::kNoSpace:
            return "NoSpace";
        case Code::kUnsupported:
            return "Unsupported";
        case Code::kLimit:
            return "Limit";
        case Code::kCancelled:
            return "Cancelled";
        case Code::kTimeout:
            return "Timeout";
        case Code::kUnavailable:
            return "Unavailable";
    }
    return "Unknown";
}

Status::Status(Code code, Reason reason, std::string text)
    : rep_(std::make_unique<Rep>(Rep{code, reason, std::move(text)})) {
    dcheck(code != Code::kOk);
    if (rep_->text.size() > kTextBytesMax) {
        rep_->text = cutText(rep_->text, kTextBytesMax);
    }
}

Status& Status::operator=(const Status& other) {
    if (this != &other) {
        rep_ = other.rep_ ? other.copyOfRep() : nullptr;
    }
    return *this;
}

Status Status::wouldBlock() {
    return Status(Code::kWouldBlock, "");
}

Status Status::withContext(std::string_view context) const {
    if (isOk()) {
        return *this;
    }
    return Status(code(), reason(), std::string(context) + ": " + std::string(text()));
}

std::string Status::toString() const {
    if (isOk()) {
        return "Ok";
    }
    return std::string(codeName(code())) + ": " + std::string(text());
}

Status invalid(Reason reason, std::string text) {
    return Status(Code::kInvalid, reason, std::move(text));
}

Status badValue(std::string text) {
    return invalid(Reason::kBadValue, std::move(text));
}

}  // namespace freshet
