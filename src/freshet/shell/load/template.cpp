// SPDX-License-Identifier: Apache-2.0
#include "freshet/shell/load/template.h"

#include <algorithm>

namespace freshet::shell {

namespace {

constexpr int64_t kStringBytesMax = 1 << 20;

/// {"#NAME": ...} with no other field; missing when it is not a placeholder.
bson::Element placeOf(const bson::Element& element) {
    if (!element.isObject() || element.document().isEmpty()) {
        return {};
    }
    const bson::Element first = *element.document().begin();
    return first.name().starts_with('#') ? first : bson::Element();
}

/// The index-th number of a list; missing when there is none.
bson::Element numberAt(const bson::Element& list, int index) {
    if (!list.isArray()) {
        return {};
    }
    const bson::Element found = list.document().find(std::to_string(index));
    return found.isNumber() ? found : bson::Element();
}

int64_t numberOf(const bson::Element& object, std::string_view name, int64_t otherwise) {
    const bson::Element found = object.document().find(name);
    return found.isNumber() ? found.toInt64() : otherwise;
}

Status checkPlace(const bson::Element& place) {
    const std::string_view name = place.name();
    const bool isGood = name == "#RAND_INT"  ? numberAt(place, 0) && numberAt(place, 1)
                        : name == "#SEQ_INT" ? place.isObject()
                        : name == "#RAND_STRING"
                            ? numberAt(place, 0) && numberAt(place, 0).toInt64() <= kStringBytesMax
                            : name == "#OID";
    return isGood ? Status::ok()
                  : badValue("benchRun: " + std::string(name) +
                             " is none of #RAND_INT: [low, high], #SEQ_INT: {start, step, mod}, "
                             "#RAND_STRING: [length], #OID: 1");
}

std::string randomText(int64_t length, Draw& draw) {
    constexpr std::string_view kLetters =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string text(static_cast<size_t>(std::max<int64_t>(0, length)), '\0');
    for (char& letter : text) {
        letter = kLetters[static_cast<size_t>(draw.between(0, kLetters.size()))];
    }
    return text;
}

void addNumber(bson::Builder& out, std::string_view name, int64_t number) {
    if (number >= INT32_MIN && number <= INT32_MAX) {
        out.add(name, static_cast<int32_t>(number));
    } else {
        out.add(name, number);
    }
}

void fillPlace(bson::Builder& out, std::string_view name, const bson::Element& place, Draw& draw) {
    if (place.name() == "#RAND_INT") {
        addNumber(
            out, name, draw.between(numberAt(place, 0).toInt64(), numberAt(place, 1).toInt64()));
    } else if (place.name() == "#SEQ_INT") {
        const int64_t mod = numberOf(place, "mod", 0);
        const int64_t number = draw.sequence() * numberOf(place, "step", 1);
        addNumber(out, name, numberOf(place, "start", 0) + (mod > 0 ? number % mod : number));
    } else if (place.name() == "#RAND_STRING") {
        out.add(name, randomText(numberAt(place, 0).toInt64(), draw));
    } else {
        out.add(name, bson::ObjectId::generate());
    }
}

void fill(bson::Builder& out, bson::Document document, Draw& draw) {
    for (const bson::Element& element : document) {
        if (const bson::Element place = placeOf(element)) {
            fillPlace(out, element.name(), place, draw);
        } else if (element.isObject() || element.isArray()) {
            bson::Builder inner =
                element.isArray() ? out.array(element.name()) : out.object(element.name());
            fill(inner, element.document(), draw);
        } else {
            out.add(element);
        }
    }
}

}  // namespace

Draw::Draw(uint32_t number, uint32_t count)
    : state_(0x9e3779b97f4a7c15ull * (number + 1)), sequence_(number), count_(count) {}

/// xorshift64: good enough to spread a load.
int64_t Draw::between(int64_t low, int64_t high) {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return high <= low ? low
                       : low + static_cast<int64_t>(state_ % static_cast<uint64_t>(high - low));
}

Status checkTemplate(bson::Document document) {
    for (const bson::Element& element : document) {
        if (const bson::Element place = placeOf(element)) {
            FRESHET_RETURN_IF_ERROR(checkPlace(place));
        } else if (element.isObject() || element.isArray()) {
            FRESHET_RETURN_IF_ERROR(checkTemplate(element.document()));
        }
    }
    return Status::ok();
}

std::string fillTemplate(bson::Document document, Draw& draw) {
    bson::Builder out;
    fill(out, document, draw);
    return out.finish();
}

}  // namespace freshet::shell
