// SPDX-License-Identifier: Apache-2.0
/// A dotted path compiled once, and MongoDB's walk along it: arrays on the way are entered
/// implicitly, a numeric component is an array index or a field name. One walk may therefore meet
/// many elements, and "missing" is one of them. Immutable; any thread.
#pragma once

#include "freshet/bson/view.h"

#include <string>
#include <string_view>
#include <vector>

namespace freshet::query {

/// The index a component names ("0", "17"); -1 when it is none ("01", "x").
int64_t arrayIndexOf(std::string_view component);

/// What happens with an array at the path's end.
enum class LeafArray : uint8_t {
    kEnter,  // each of its elements, then the array itself
    kKeep,   // only the array itself
};

class MatchPath {
public:
    struct Part {
        std::string name;
        int64_t index = -1;
    };

    explicit MatchPath(std::string_view dotted);

    const std::vector<Part>& parts() const { return parts_; }

    /// Calls visitor(element, arrayIndex) for what lies at the path until it says true; returns
    /// whether it did. A missing end is visited as a missing element. `arrayIndex` is the index in
    /// the outermost array entered, -1 when none was.
    template <typename Visitor>
    bool visit(bson::Document document, LeafArray leaf, Visitor&& visitor) const {
        return walk(document, 0, -1, leaf, visitor);
    }

private:
    template <typename Visitor>
    bool walk(
        bson::Document document, size_t part, int outer, LeafArray leaf, Visitor& visitor) const {
        for (; part < parts_.size(); ++part) {
            bson::Element element = document.find(parts_[part].name);
            const bool last = part + 1 == parts_.size();
            if (element.isArray()) {
                return last ? walkLeafArray(element, outer, leaf, visitor)
                            : walkArray(element.document(), part + 1, outer, leaf, visitor);
            }
            if (last) {
                return visitor(element, outer);
            }
            if (!element.isObject()) {
                break;
            }
            document = element.document();
        }
        return visitor(bson::Element(), outer);
    }

    template <typename Visitor>
    bool walkLeafArray(bson::Element array, int outer, LeafArray leaf, Visitor& visitor) const {
        if (leaf == LeafArray::kEnter) {
            int index = 0;
            for (const bson::Element& element : array.document()) {
                if (visitor(element, outer >= 0 ? outer : index)) {
                    return true;
                }
                ++index;
            }
        }
        return visitor(array, outer);
    }

    /// An array in the middle of the path: each object in it, and the element that the next
    /// component names as an index. An element met by index at the path's end is not entered.
    template <typename Visitor>
    bool walkArray(
        bson::Document array, size_t part, int outer, LeafArray leaf, Visitor& visitor) const {
        int index = 0;
        for (const bson::Element& element : array) {
            const int outermost = outer >= 0 ? outer : index;
            if (element.isObject() && walk(element.document(), part, outermost, leaf, visitor)) {
                return true;
            }
            if (parts_[part].index == index) {
                if (part + 1 == parts_.size()) {
                    if (visitor(element, outermost)) {
                        return true;
                    }
                } else if (element.isObject() || element.isArray()) {
                    if (walk(element.document(), part + 1, outermost, leaf, visitor)) {
                        return true;
                    }
                }
            }
            ++index;
        }
        return false;
    }

    std::vector<Part> parts_;
};

}  // namespace freshet::query
