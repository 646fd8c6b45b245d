// SPDX-License-Identifier: Apache-2.0
/// Makes documents from arbitrary bytes, for fuzzers of code that parses documents. When libFuzzer
/// mutates BSON itself, the result is seldom well formed and seldom contains a word of the
/// language. Here each byte decides what comes next, and names and texts come from a list of words.
#pragma once

#include "freshet/bson/builder.h"

#include <string>
#include <string_view>
#include <vector>

namespace freshet::bson {

class WordedDocument {
public:
    /// `words`: must outlive this.
    WordedDocument(ByteView bytes, const std::vector<std::string>& words)
        : bytes_(bytes), words_(words) {}

    /// The next document; an empty one when the bytes are used up.
    OwnedDocument next() {
        Builder builder;
        fill(&builder, false, 1);
        return OwnedDocument(builder.finish());
    }
    bool isAtEnd() const { return bytes_.empty(); }

private:
    enum Kind : uint8_t {
        kObject,
        kArray,
        kWord,
        kText,
        kInt,
        kLong,
        kDouble,
        kBool,
        kNull,
        kRegex,
        kDate,
        kBinary,
        kMinKey,
        kEnd,
        kKinds
    };

    uint8_t byte() {
        if (bytes_.empty()) {
            return 0;
        }
        const auto first = static_cast<uint8_t>(bytes_.front());
        bytes_.remove_prefix(1);
        return first;
    }

    std::string_view word() {
        const size_t at = size_t{byte()} << 8 | byte();
        return words_[at % words_.size()];
    }

    void fill(Builder* out, bool isArray, int level) {
        while (!bytes_.empty()) {
            const uint8_t kind = byte() % kKinds;
            if (kind == kEnd) {
                return;
            }
            const std::string_view name = isArray ? out->nextIndex() : word();
            add(static_cast<Kind>(kind), name, out, level);
        }
    }

    void add(Kind kind, std::string_view name, Builder* out, int level) {
        switch (kind) {
            case kObject:
            case kArray: {
                const bool isArray = kind == kArray;
                Builder inner = isArray ? out->array(name) : out->object(name);
                if (level < kNestingMax) {
                    fill(&inner, isArray, level + 1);
                }
                return;
            }
            case kWord:
                out->add(name, word());
                return;
            case kText:
                out->add(name, "$" + std::string(word()));
                return;
            case kInt:
                out->add(name, static_cast<int32_t>(static_cast<int8_t>(byte())));
                return;
            case kLong:
                out->add(name, static_cast<int64_t>(uint64_t{byte()} << (byte() % 64)));
                return;
            case kDouble:
                out->add(name, static_cast<int8_t>(byte()) / 4.0);
                return;
            case kBool:
                out->add(name, byte() % 2 != 0);
                return;
            case kRegex:
                out->add(name, Regex{word(), "i"});
                return;
            case kDate:
                out->add(name, Date{int64_t{byte()} << 32});
                return;
            case kBinary:
                out->add(name, Binary{0, word()});
                return;
            case kMinKey:
                out->add(name, MinKey{});
                return;
            default:
                out->add(name, Null{});
                return;
        }
    }

    ByteView bytes_;
    const std::vector<std::string>& words_;
};

/// Names and values that occur in documents of all kinds, in addition to a language's words.
inline std::vector<std::string> wordsOfAll() {
    std::vector<std::string> words = {"a",      "b",      "_id",     "a.b",      "a.b.c", "a.0",
                                      "a.$",    "a.$[]",  "a.$[e]",  "e.a",      "0",     "1",
                                      "",       "$",      ".",       "a..b",     "$a",    "$a.b",
                                      "$$ROOT", "$$this", "$$value", "$$REMOVE", "$$NOW"};
    std::string path = "p";
    for (size_t part = 1; part < 200; ++part) {
        path += ".p";
    }
    words.push_back(path);
    words.push_back("$" + path);
    words.push_back(path + ".p");
    return words;
}

}  // namespace freshet::bson
