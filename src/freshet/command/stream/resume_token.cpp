// SPDX-License-Identifier: Apache-2.0
#include "freshet/command/stream/resume_token.h"

#include "freshet/base/assert.h"
#include "freshet/base/bytes.h"
#include "freshet/base/checksum.h"
#include "freshet/bson/json.h"

#include <algorithm>
#include <string>

namespace freshet::command {
namespace {

/// MongoDB's tokens begin with 0x82.
constexpr char kTokenVersion = 1;

enum class TokenKind : uint8_t { kHighWaterMark = 0, kEvent = 1, kInvalidate = 2 };

// Where the fields begin.
constexpr size_t kTimestampAt = 1;
constexpr size_t kLsnAt = 9;
constexpr size_t kNumberAt = 17;
constexpr size_t kKindAt = 21;
constexpr size_t kPartAt = 22;
constexpr size_t kChecksumAt = 26;
constexpr size_t kTokenBytes = 28;

uint16_t checksumOf(const char* bytes) {
    return static_cast<uint16_t>(crc32c(bytes, kChecksumAt));
}

/// -1: not a digit.
int digitOf(char c) {
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    const char lower = static_cast<char>(c | 0x20);
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

bool fromHex(std::string_view digits, std::string* bytes) {
    if (digits.size() % 2 != 0) {
        return false;
    }
    bytes->clear();
    bytes->reserve(digits.size() / 2);
    for (size_t i = 0; i < digits.size(); i += 2) {
        const int high = digitOf(digits[i]);
        const int low = digitOf(digits[i + 1]);
        if (high < 0 || low < 0) {
            return false;
        }
        bytes->push_back(static_cast<char>(high * 16 + low));
    }
    return true;
}

std::string upperHex(ByteView bytes) {
    std::string digits = toHex(bytes);
    std::transform(digits.begin(), digits.end(), digits.begin(), [](char c) {
        return c >= 'a' ? static_cast<char>(c - 'a' + 'A') : c;
    });
    return digits;
}

TokenKind kindOf(const ResumeToken& token) {
    if (token.isHighWaterMark) {
        return TokenKind::kHighWaterMark;
    }
    return token.isInvalidate ? TokenKind::kInvalidate : TokenKind::kEvent;
}

/// False: not what toDocument() has written.
bool decode(ByteView bytes, ResumeToken* token) {
    if (bytes.size() != kTokenBytes || bytes[0] != kTokenVersion ||
        loadLe<uint16_t>(bytes.data() + kChecksumAt) != checksumOf(bytes.data())) {
        return false;
    }
    token->timestamp = loadBe64(bytes.data() + kTimestampAt);
    token->lsn = loadBe64(bytes.data() + kLsnAt);
    token->number = loadBe32(bytes.data() + kNumberAt);
    const auto kind = static_cast<TokenKind>(bytes[kKindAt]);
    token->isHighWaterMark = kind == TokenKind::kHighWaterMark;
    token->isInvalidate = kind == TokenKind::kInvalidate;
    const uint32_t partPlusOne = loadBe32(bytes.data() + kPartAt);
    token->part = static_cast<int32_t>(partPlusOne) - 1;
    return kind <= TokenKind::kInvalidate && partPlusOne <= INT32_MAX &&
           (!token->isHighWaterMark || partPlusOne == 0);
}

Status badToken(uint32_t number, std::string_view text, bson::Document document) {
    return invalid(location(number),
                   "Bad resume token: " + std::string(text) + bson::toShellText(document));
}

}  // namespace

bson::OwnedDocument toDocument(const ResumeToken& token) {
    dcheck(!token.isHighWaterMark || (!token.isInvalidate && token.part == -1));
    char bytes[kTokenBytes];
    bytes[0] = kTokenVersion;
    storeBe64(bytes + kTimestampAt, token.timestamp);
    storeBe64(bytes + kLsnAt, token.lsn);
    storeBe32(bytes + kNumberAt, token.number);
    bytes[kKindAt] = static_cast<char>(kindOf(token));
    storeBe32(bytes + kPartAt, static_cast<uint32_t>(token.part) + 1);
    storeLe(bytes + kChecksumAt, checksumOf(bytes));
    bson::Builder document;
    document.add("_data", upperHex(ByteView(bytes, sizeof(bytes))));
    return bson::OwnedDocument(document.finish());
}

StatusOr<ResumeToken> parseResumeToken(bson::Document document) {
    const bson::Element data = document.find("_data");
    if (!data.isString()) {
        return badToken(
            40647, "_data of missing or of wrong type. Expected string, got ", document);
    }
    const bson::Element typeBits = document.find("_typeBits");
    if (!typeBits.isMissing() &&
        (typeBits.type() != bson::Type::kBinary || typeBits.binaryValue().subtype != 0)) {
        return badToken(40648, "_typeBits of wrong type ", document);
    }
    std::string bytes;
    if (!fromHex(data.stringValue(), &bytes)) {
        return invalid(Reason::kFailedToParse, "resume token string was not a valid hex string");
    }
    if (bytes.empty()) {
        return invalid(location(40649), "invalid empty resume token");
    }
    ResumeToken token;
    if (!typeBits.isMissing() || !decode(bytes, &token)) {
        return invalid(
            Reason::kChangeStreamFatalError,
            "cannot resume stream; the resume token was not found. " + bson::toShellText(document));
    }
    return token;
}

}  // namespace freshet::command
