// SPDX-License-Identifier: Apache-2.0
#include "freshet/command/stream/update_description.h"

#include "freshet/command/stream/document_diff.h"

#include <algorithm>
#include <string>
#include <vector>

namespace freshet::command {
namespace {

/// As a name of a field could be taken for an array's index.
bool isLikeIndex(std::string_view name) {
    const bool isDigits = !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
        return c >= '0' && c <= '9';
    });
    return isDigits && (name.size() == 1 || name[0] != '0');
}

/// The path to a change: its text, and its parts.
class ChangedPath {
public:
    void enter(std::string_view name) {
        const bool isAmbiguous =
            name.find('.') != std::string_view::npos || (!parts_.empty() && isLikeIndex(name));
        push(name, {.isAmbiguous = isAmbiguous});
    }
    void enter(uint32_t index) { push(std::to_string(index), {.isIndex = true, .index = index}); }
    void leave() {
        text_.resize(parts_.back().start - (parts_.size() > 1 ? 1 : 0));
        parts_.pop_back();
    }

    const std::string& text() const { return text_; }
    /// Whether the text alone does not say what the parts are.
    bool isAmbiguous() const { return parts_.back().isAmbiguous; }
    void addPartsTo(bson::Builder* out) const {
        for (size_t i = 0; i < parts_.size(); ++i) {
            const bool isLast = i + 1 == parts_.size();
            const size_t end = isLast ? text_.size() : parts_[i + 1].start - 1;
            if (parts_[i].isIndex) {
                out->push(static_cast<int32_t>(parts_[i].index));
            } else {
                out->push(std::string_view(text_).substr(parts_[i].start, end - parts_[i].start));
            }
        }
    }

private:
    struct Part {
        size_t start = 0;  // in the text
        bool isIndex = false;
        bool isAmbiguous = false;  // the path up to here
        uint32_t index = 0;
    };
    void push(std::string_view name, Part part) {
        if (!parts_.empty()) {
            part.isAmbiguous = part.isAmbiguous || parts_.back().isAmbiguous;
            text_ += '.';
        }
        part.start = text_.size();
        text_ += name;
        parts_.push_back(part);
    }

    std::string text_;
    std::vector<Part> parts_;
};

class Description {
public:
    /// It ends when it has more than `most` bytes.
    Description(const DocumentDiff& diff, bool withPaths, uint64_t most)
        : diff_(diff), withPaths_(withPaths), most_(most) {
        addObject(diff_.root());
    }

    bson::OwnedDocument finish() {
        bson::Builder out;
        const bson::OwnedDocument updated(updated_.finish());
        const bson::OwnedDocument removed(removed_.finish());
        const bson::OwnedDocument truncated(truncated_.finish());
        out.add("updatedFields", updated.view());
        out.addArray("removedFields", removed.view());
        out.addArray("truncatedArrays", truncated.view());
        if (withPaths_) {
            out.add("disambiguatedPaths", bson::OwnedDocument(paths_.finish()).view());
        }
        return bson::OwnedDocument(out.finish());
    }

    bool isTooLarge() const {
        return updated_.size() + removed_.size() + truncated_.size() + paths_.size() > most_;
    }

private:
    void addObject(const DiffNode& node);
    void addArray(const DiffNode& node);
    void addNode(uint32_t number) {
        const DiffNode& node = diff_.node(number);
        if (node.isArray) {
            addArray(node);
        } else {
            addObject(node);
        }
    }
    void addParts() {
        if (withPaths_ && path_.isAmbiguous()) {
            bson::Builder parts = paths_.array(path_.text());
            path_.addPartsTo(&parts);
        }
    }

    const DocumentDiff& diff_;
    const bool withPaths_;
    const uint64_t most_;
    ChangedPath path_;
    bson::Builder updated_;
    bson::Builder removed_;
    bson::Builder truncated_;
    bson::Builder paths_;
};

void Description::addObject(const DiffNode& node) {
    const auto forEach = [&](auto isIt, auto add) {
        for (const DiffChange& change : node.changes) {
            if (isIt(change.kind) && !isTooLarge()) {
                path_.enter(change.element.name());
                add(change);
                path_.leave();
            }
        }
    };
    using Kind = DiffChange::Kind;
    for (const Kind kind : {Kind::kUpdate, Kind::kInsert}) {
        forEach([kind](Kind its) { return its == kind; },
                [&](const DiffChange& change) {
                    updated_.addAs(path_.text(), change.element);
                    addParts();
                });
    }
    forEach([](Kind its) { return its == Kind::kRemove; },
            [&](const DiffChange&) {
                removed_.push(path_.text());
                addParts();
            });
    forEach([](Kind its) { return its == Kind::kInside; },
            [&](const DiffChange& change) { addNode(change.node); });
}

void Description::addArray(const DiffNode& node) {
    if (node.newSize >= 0) {
        truncated_.object(truncated_.nextIndex())
            .add("field", path_.text())
            .add("newSize", node.newSize);
        addParts();
    }
    for (const DiffChange& change : node.changes) {
        if (isTooLarge()) {
            return;
        }
        path_.enter(change.index);
        if (change.kind == DiffChange::Kind::kInside) {
            addNode(change.node);
        } else {
            updated_.addAs(path_.text(), change.element);
            addParts();
        }
        path_.leave();
    }
}

}  // namespace

bson::OwnedDocument describeUpdate(bson::Document before, bson::Document after, bool withPaths) {
    const DocumentDiff nested(before, after);
    Description description(nested, withPaths, bson::kDocumentBytesMax);
    if (!description.isTooLarge()) {
        return description.finish();
    }
    const DocumentDiff fields(before, after, DocumentDiff::Detail::kFields);
    return Description(fields, withPaths, UINT64_MAX).finish();
}

bson::OwnedDocument rawUpdateDescription(bson::Document before, bson::Document after) {
    bson::Builder out;
    out.add("$v", int32_t{2});
    {
        bson::Builder diff = out.object("diff");
        DocumentDiff(before, after).writeTo(&diff);
    }
    return bson::OwnedDocument(out.finish());
}

}  // namespace freshet::command
