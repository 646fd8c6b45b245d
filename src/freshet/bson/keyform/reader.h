// SPDX-License-Identifier: Apache-2.0
/// Reads bytes of a key form, which may be complemented. Nothing is assumed valid: each call
/// returns whether the bytes existed.
#pragma once

#include "freshet/base/bytes.h"
#include "freshet/bson/keyform/format.h"

#include <string>

namespace freshet::bson::keyform {

class Reader {
public:
    explicit Reader(ByteView bytes) : bytes_(bytes) {}

    /// From here on, bytes are (not) complemented.
    void setComplemented(bool complemented) { mask_ = complemented ? 0xff : 0; }
    void flip() { mask_ ^= 0xff; }
    size_t position() const { return at_; }

    bool byte(uint8_t* out) {
        if (at_ == bytes_.size()) {
            return false;
        }
        *out = static_cast<uint8_t>(bytes_[at_++]) ^ mask_;
        return true;
    }

    /// Big endian, 1 to 8 bytes.
    bool integer(size_t bytes, uint64_t* out) {
        *out = 0;
        for (uint8_t next = 0; bytes != 0; --bytes) {
            if (!byte(&next)) {
                return false;
            }
            *out = *out << 8 | next;
        }
        return true;
    }

    /// Appends the bytes if `out` is not null.
    bool bytes(size_t count, std::string* out) {
        if (bytes_.size() - at_ < count) {
            return false;
        }
        take(count, out);
        return true;
    }

    /// Up to the next end byte, which is consumed but not appended.
    bool untilEnd(std::string* out) {
        size_t end = bytes_.find(static_cast<char>(kEndByte ^ mask_), at_);
        if (end == ByteView::npos) {
            return false;
        }
        take(end - at_, out);
        ++at_;
        return true;
    }

private:
    void take(size_t count, std::string* out) {
        if (out != nullptr) {
            size_t from = out->size();
            out->append(bytes_.substr(at_, count));
            for (size_t i = from; mask_ != 0 && i < out->size(); ++i) {
                (*out)[i] = static_cast<char>(~(*out)[i]);
            }
        }
        at_ += count;
    }

    ByteView bytes_;
    size_t at_ = 0;
    uint8_t mask_ = 0;
};

/// Reads type bits. Bytes past their end read as zero, so zeros at the end need not be stored.
class TypeBitsReader {
public:
    explicit TypeBitsReader(ByteView bytes) : bytes_(bytes) {}

    uint8_t byte() { return at_ < bytes_.size() ? static_cast<uint8_t>(bytes_[at_++]) : 0; }
    std::string bytes(size_t count) {
        std::string result;
        for (; count != 0; --count) {
            result.push_back(static_cast<char>(byte()));
        }
        return result;
    }

private:
    ByteView bytes_;
    size_t at_ = 0;
};

/// Complements the bytes from `from` on.
inline void complementFrom(std::string* bytes, size_t from) {
    for (size_t i = from; i < bytes->size(); ++i) {
        (*bytes)[i] = static_cast<char>(~(*bytes)[i]);
    }
}

}  // namespace freshet::bson::keyform
