// SPDX-License-Identifier: Apache-2.0
/// Status and StatusOr: how every room reports failure. A Status is one pointer, null on success,
/// so success costs one compare. It carries a code (what a caller may branch on), a reason (which
/// of the protocol's named errors a client should see; numbers are in command/error_map) and a
/// text, which is cut at 4 KiB. No exception leaves a room.
#pragma once

#include "freshet/base/assert.h"
#include "freshet/base/reason.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace freshet {

/// What callers inside the server branch on. A closed set.
enum class Code : uint8_t {
    kOk,
    kInvalid,      // the request is wrong and will stay wrong
    kNotFound,     // no such key, collection, file or cursor
    kExists,       // unique constraint or name already taken
    kConflict,     // another transaction was first; run again from a new snapshot
    kWouldBlock,   // wait for the operation's WaitToken, then call again
    kCorruption,   // stored bytes differ from what was written
    kIo,           // the operating system refused
    kNoSpace,      // no space left on the device
    kUnsupported,  // well formed, but not supported
    kLimit,        // a named limit was exceeded
    kCancelled,    // the operation or its session was ended
    kTimeout,      // a deadline passed
    kUnavailable,  // shutting down, or not ready yet
};

std::string_view codeName(Code code);

class [[nodiscard]] Status {
public:
    Status() = default;
    Status(Code code, std::string text) : Status(code, Reason::kNone, std::move(text)) {}
    Status(Code code, Reason reason, std::string text);
    Status(const Status& other) : rep_(other.rep_ ? other.copyOfRep() : nullptr) {}
    Status& operator=(const Status& other);
    Status(Status&&) noexcept = default;
    Status& operator=(Status&&) noexcept = default;

    static Status ok() { return {}; }
    /// The operation's own token says when to call again.
    static Status wouldBlock();

    bool isOk() const { return rep_ == nullptr; }
    Code code() const { return rep_ ? rep_->code : Code::kOk; }
    /// kNone where the code alone is enough.
    Reason reason() const { return rep_ ? rep_->reason : Reason::kNone; }
    std::string_view text() const { return rep_ ? std::string_view(rep_->text) : ""; }
    bool isWouldBlock() const { return code() == Code::kWouldBlock; }
    /// Puts `context: ` before the text; code and reason stay.
    Status withContext(std::string_view context) const;
    /// For people: "Invalid (BadValue): text".
    std::string toString() const;

private:
    struct Rep {
        Code code;
        Reason reason;
        std::string text;
    };
    std::unique_ptr<Rep> copyOfRep() const { return std::make_unique<Rep>(*rep_); }

    std::unique_ptr<Rep> rep_;
};

/// Shorthand for errors that a client sees by name.
Status invalid(Reason reason, std::string text);
Status badValue(std::string text);

/// A value, or the reason why there is none.
template <typename T>
class [[nodiscard]] StatusOr {
public:
    StatusOr(Status status) : status_(std::move(status)) {  // NOLINT: implicit by design
        invariant(!status_.isOk());
    }
    StatusOr(T value) : value_(std::move(value)) {}  // NOLINT: implicit by design

    bool isOk() const { return value_.has_value(); }
    const Status& status() const& { return status_; }
    Status status() && { return std::move(status_); }
    T& value() & {
        invariant(isOk());
        return *value_;
    }
    const T& value() const& {
        invariant(isOk());
        return *value_;
    }
    T&& value() && {
        invariant(isOk());
        return *std::move(value_);
    }
    T& operator*() & { return value(); }
    const T& operator*() const& { return value(); }
    T&& operator*() && { return std::move(*this).value(); }
    T* operator->() { return &value(); }
    const T* operator->() const { return &value(); }

private:
    Status status_;
    std::optional<T> value_;
};

#define FRESHET_CONCAT_INNER(a, b) a##b
#define FRESHET_CONCAT(a, b) FRESHET_CONCAT_INNER(a, b)

/// Leaves the function with the status of `expr` unless it is ok.
#define FRESHET_RETURN_IF_ERROR(expr)                              \
    do {                                                           \
        if (::freshet::Status status_ = (expr); !status_.isOk()) { \
            return status_;                                        \
        }                                                          \
    } while (false)

/// `FRESHET_ASSIGN_OR_RETURN(auto x, f());`
#define FRESHET_ASSIGN_OR_RETURN(lhs, expr) \
    FRESHET_ASSIGN_OR_RETURN_INNER(FRESHET_CONCAT(statusOr_, __LINE__), lhs, expr)
#define FRESHET_ASSIGN_OR_RETURN_INNER(tmp, lhs, expr) \
    auto tmp = (expr);                                 \
    if (!tmp.isOk()) {                                 \
        return std::move(tmp).status();                \
    }                                                  \
    lhs = std::move(tmp).value()

}  // namespace freshet
