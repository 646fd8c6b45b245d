// SPDX-License-Identifier: Apache-2.0
/// A dotted path compiled once, and MongoDB's walk along it: arrays on the way are entered
/// implicitly, and a numeric component is an array index or a field name. One walk may therefore
/// meet many elements, and "missing" is one of them. Immutable; any thread.
#pragma once

#include "freshet/query/fields/field_finder.h"

#include "absl/container/flat_hash_set.h"

#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace freshet::query {

/// The index that a component names ("0", "17"); -1 if it is not an index ("01", "x").
int64_t arrayIndexOf(std::string_view component);

/// How an array at the end of the path is visited.
enum class LeafArray : uint8_t {
    kEnter,  // each of its elements, then the array itself
    kKeep,   // only the array itself
};

/// The places that one walk has visited. A numeric component can be read in two ways, so an object
/// in an array can be reached in two ways, and in twice as many at each further level. After a few
/// such forks, no place is walked from twice.
class PlacesWalked {
public:
    void fork() { ++forks_; }
    /// False if the walk has already continued from `at` with this part of the path.
    bool isNew(bson::Document at, size_t part) {
        return forks_ <= kForksFree || seen_.emplace(at.data(), part).second;
    }

private:
    static constexpr int kForksFree = 8;
    int forks_ = 0;
    absl::flat_hash_set<std::pair<const char*, size_t>> seen_;
};

class MatchPath {
public:
    struct Part {
        std::string name;
        int64_t index = -1;
    };

    explicit MatchPath(std::string_view dotted);

    const std::vector<Part>& parts() const { return parts_; }

    /// Calls visitor(element, arrayIndex) for each element at the path until it returns true;
    /// returns whether it did. A missing end is visited as a missing element. `arrayIndex` is the
    /// index in the outermost array entered, -1 if none was; one whose index the path names is not
    /// entered.
    /// `fields`: finds fields of the document when many are wanted; may be null.
    template <typename Visitor>
    bool visit(bson::Document document,
               LeafArray leaf,
               Visitor&& visitor,
               FieldFinder* fields = nullptr) const {
        PlacesWalked walked;
        const Walk<std::remove_reference_t<Visitor>> walk{parts_, leaf, visitor, fields, walked};
        return walk.document(document, 0, -1);
    }

private:
    /// One visit. `part`: how many parts of the path have been walked. `outer`: the index in the
    /// outermost array entered.
    template <typename Visitor>
    struct Walk {
        const std::vector<Part>& parts;
        const LeafArray leaf;
        Visitor& visitor;
        FieldFinder* const fields;
        PlacesWalked& walked;

        bool document(bson::Document document, size_t part, int outer) const {
            for (; part < parts.size(); ++part) {
                const std::string& name = parts[part].name;
                const bson::Element element =
                    fields == nullptr ? document.find(name) : fields->find(document, name);
                const bool last = part + 1 == parts.size();
                if (element.isArray()) {
                    return last ? leafArray(element, outer)
                                : array(element.document(), part + 1, outer);
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

        bool leafArray(bson::Element array, int outer) const {
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

        /// An array in the middle of the path: visits each object in it, and the element that the
        /// next component names as an index. An element found by index at the path's end is not
        /// entered.
        bool array(bson::Document array, size_t part, int outer) const {
            int index = 0;
            for (const bson::Element& element : array) {
                const int outermost = outer >= 0 ? outer : index;
                if (element.isObject() && walked.isNew(element.document(), part) &&
                    document(element.document(), part, outermost)) {
                    return true;
                }
                if (parts[part].index == index && atIndex(element, part, outer)) {
                    return true;
                }
                ++index;
            }
            return false;
        }

        bool atIndex(const bson::Element& element, size_t part, int outer) const {
            if (part + 1 == parts.size()) {
                return visitor(element, outer);
            }
            if (!element.isObject() && !element.isArray()) {
                return false;
            }
            walked.fork();
            if (!walked.isNew(element.document(), part + 1)) {
                return false;
            }
            return element.isArray() ? array(element.document(), part + 1, outer)
                                     : document(element.document(), part + 1, outer);
        }
    };

    std::vector<Part> parts_;
};

}  // namespace freshet::query
