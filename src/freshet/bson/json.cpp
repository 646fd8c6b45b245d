// SPDX-License-Identifier: Apache-2.0
/// Extended JSON through libbson. libbson refuses text that is not UTF-8, which BSON from outside
/// may contain, so such text is repaired before it is printed.
#include "freshet/bson/json.h"

#include <bson/bson.h>

#include <memory>

namespace freshet::bson {

namespace {

/// Owns the result of bson_new_from_json; null if it failed.
struct ParsedJson {
    bson_t* bson;
    ~ParsedJson() { bson_destroy(bson); }
};
using JsonText = std::unique_ptr<char, decltype(&bson_free)>;
using Printer = char* (*)(const bson_t*, size_t*);

bool isUtf8(std::string_view text) {
    return bson_utf8_validate(text.data(), text.size(), true);
}

void appendRepaired(Document document, Builder& out);

void appendRepaired(const Element& element, Builder& out) {
    std::string name = repairedUtf8(element.name());
    switch (element.type()) {
        case Type::kString:
        case Type::kSymbol:
            out.add(name, repairedUtf8(element.stringValue()));
            return;
        case Type::kCode:
        case Type::kCodeWithScope:
            out.addCode(name, repairedUtf8(element.stringValue()));
            return;
        case Type::kRegex:
            out.add(name,
                    Regex{repairedUtf8(element.regexValue().pattern),
                          repairedUtf8(element.regexValue().options)});
            return;
        case Type::kDbPointer:
            out.add(name, repairedUtf8(element.stringValue()));
            return;
        case Type::kObject: {
            Builder sub = out.object(name);
            return appendRepaired(element.document(), sub);
        }
        case Type::kArray: {
            Builder sub = out.array(name);
            return appendRepaired(element.document(), sub);
        }
        default:
            out.addAs(name, element);
    }
}

void appendRepaired(Document document, Builder& out) {
    for (const Element& element : document) {
        appendRepaired(element, out);
    }
}

JsonText printAsIs(Document document, Printer printer) {
    bson_t view;
    JsonText text(nullptr, &bson_free);
    if (bson_init_static(
            &view, reinterpret_cast<const uint8_t*>(document.data()), document.size())) {
        text.reset(printer(&view, nullptr));
    }
    return text;
}

std::string print(Document document, Printer printer) {
    JsonText text = printAsIs(document, printer);
    if (text == nullptr) {
        Builder builder;
        appendRepaired(document, builder);
        text = printAsIs(OwnedDocument(builder.finish()).view(), printer);
    }
    return text == nullptr ? toShellText(document) : std::string(text.get());
}

}  // namespace

std::string repairedUtf8(std::string_view text) {
    std::string result;
    while (!text.empty()) {
        auto lead = static_cast<uint8_t>(text[0]);
        size_t length = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
        if (length <= text.size() && isUtf8(text.substr(0, length))) {
            result.append(text.substr(0, length));
            text.remove_prefix(length);
        } else {
            result.append("\xef\xbf\xbd");
            text.remove_prefix(1);
        }
    }
    return result;
}

size_t JsonEndFinder::find(std::string_view text) {
    while (at_ < text.size()) {
        char c = text[at_++];
        if (quoted_) {
            at_ += static_cast<size_t>(c == '\\');
            quoted_ = c != '"';
        } else if (c == '"') {
            quoted_ = true;
        } else if (c == '{' || c == '[') {
            ++open_;
        } else if ((c == '}' || c == ']') && --open_ == 0) {
            return at_;
        }
    }
    return 0;
}

StatusOr<OwnedDocument> fromJson(std::string_view json) {
    auto fail = [](std::string text) {
        return invalid(Reason::kFailedToParse, "not a JSON object: " + text);
    };
    size_t start = json.find_first_not_of(" \t\r\n");
    if (start == std::string_view::npos || json[start] != '{') {
        return fail("it does not start with '{'");
    }
    size_t end = JsonEndFinder().find(json.substr(start));
    if (end != 0 && json.find_first_not_of(" \t\r\n", start + end) != std::string_view::npos) {
        return fail("text follows the object");
    }
    bson_error_t error;
    ParsedJson parsed{bson_new_from_json(
        reinterpret_cast<const uint8_t*>(json.data()), static_cast<ssize_t>(json.size()), &error)};
    if (parsed.bson == nullptr) {
        return fail(error.message);
    }
    ByteView bytes(reinterpret_cast<const char*>(bson_get_data(parsed.bson)), parsed.bson->len);
    FRESHET_ASSIGN_OR_RETURN(Document document, Document::parse(bytes));
    return OwnedDocument(document);
}

std::string toJson(Document document) {
    return print(document, &bson_as_relaxed_extended_json);
}

std::string toCanonicalJson(Document document) {
    return print(document, &bson_as_canonical_extended_json);
}

}  // namespace freshet::bson
