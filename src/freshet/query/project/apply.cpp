// SPDX-License-Identifier: Apache-2.0
/// Walks a document and a projection's tree together and writes the result.
#include "freshet/query/project/tree.h"

#include <absl/container/inlined_vector.h>

#include <algorithm>

namespace freshet::query {
namespace {

using bson::Builder;
using bson::Document;
using bson::Element;

class Projector {
public:
    Projector(ProjectMode mode, const Matcher* matcher, ExprContext* context)
        : mode_(mode), matcher_(matcher), context_(context) {}

    void writeFields(const ProjectNode& node, Document document, Builder* out) {
        const Level level(this);
        Written written(node);
        for (const Element& field : document) {
            const size_t at = node.indexOf(field.name());
            if (at == ProjectNode::kNone) {
                if (mode_ != ProjectMode::kInclude) {
                    out->add(field);
                }
            } else if (writeField(*node.children[at], field, out)) {
                written.set(at);
            }
        }
        if (node.computes) {
            writeComputed(node, written, out);
        }
    }

private:
    /// Counts the nesting levels of the document being written.
    class Level {
    public:
        explicit Level(Projector* projector) : projector_(projector) { ++projector_->level_; }
        ~Level() { --projector_->level_; }
        Level(const Level&) = delete;
        Level& operator=(const Level&) = delete;

    private:
        Projector* projector_;
    };

    /// Which children of a node have been written, where that matters.
    class Written {
    public:
        explicit Written(const ProjectNode& node)
            : bits_(node.computes ? (node.children.size() + 63) / 64 : 0) {}
        void set(size_t at) {
            if (!bits_.empty()) {
                bits_[at / 64] |= uint64_t{1} << (at % 64);
            }
        }
        bool has(size_t at) const { return ((bits_[at / 64] >> (at % 64)) & 1) != 0; }

    private:
        absl::InlinedVector<uint64_t, 1> bits_;
    };

    /// Writes a field that the document has. False if a computed value is still to be written.
    bool writeField(const ProjectNode& node, const Element& field, Builder* out) {
        switch (node.kind) {
            case ProjectNode::kInclude:
                out->add(field);
                return true;
            case ProjectNode::kExclude:
                return true;
            case ProjectNode::kComputed:
                if (mode_ == ProjectMode::kAddFields) {
                    compute(node, field.name(), out);
                    return true;
                }
                return false;
            case ProjectNode::kSlice:
                writeSlice(node, field, out);
                return true;
            case ProjectNode::kElemMatch:
                writeElemMatch(node, field, out);
                return true;
            case ProjectNode::kPositional:
                writePositional(node, field, out);
                return true;
            case ProjectNode::kFields:
                break;
        }
        return writeNested(node, field, out);
    }

    bool writeNested(const ProjectNode& node, const Element& field, Builder* out) {
        if (field.isObject()) {
            Builder object = out->object(field.name());
            writeFields(node, field.document(), &object);
        } else if (field.isArray()) {
            Builder array = out->array(field.name());
            writeArray(node, field.document(), &array);
        } else if (node.computes) {
            return false;  // an object replaces the scalar
        } else if (mode_ != ProjectMode::kInclude) {
            out->add(field);
        }
        return true;
    }

    void writeArray(const ProjectNode& node, Document array, Builder* out) {
        const Level level(this);
        for (const Element& member : array) {
            if (!context_->mayGoOnWith(0)) {
                return;
            }
            if (member.isObject()) {
                Builder object = out->object(out->nextIndex());
                writeFields(node, member.document(), &object);
            } else if (member.isArray()) {
                Builder inner = out->array(out->nextIndex());
                writeArray(node, member.document(), &inner);
            } else if (node.computes) {
                writeMade(node, out->nextIndex(), out);
            } else if (mode_ != ProjectMode::kInclude) {
                out->pushElement(member);
            }
        }
    }

    /// Writes values of fields that the document does not have, or that follow the included ones.
    void writeComputed(const ProjectNode& node, const Written& written, Builder* out) {
        for (size_t at = 0; at < node.children.size(); ++at) {
            const ProjectNode& child = *node.children[at];
            if (!child.computes || written.has(at)) {
                continue;
            }
            if (!context_->mayGoOnWith(0)) {
                return;
            }
            if (child.kind == ProjectNode::kComputed) {
                compute(child, child.name, out);
            } else {
                writeMade(child, child.name, out);
            }
        }
    }

    /// Writes an object that the document does not have.
    void writeMade(const ProjectNode& node, std::string_view name, Builder* out) {
        Builder object = out->object(name);
        if (level_ < kComputedNestingMax) {
            writeFields(node, Document(), &object);
        } else {
            context_->failNesting();
        }
    }

    void compute(const ProjectNode& node, std::string_view name, Builder* out) {
        const Value value = node.expression->evaluate(*context_);
        if (!value.isMissing() && context_->allowsIn(*out, value.valueBytes()) &&
            context_->allowsNesting(value.element(), level_)) {
            out->addAs(name, value.element());
        }
    }

    static void writeSlice(const ProjectNode& node, const Element& field, Builder* out) {
        if (!field.isArray()) {
            out->add(field);
            return;
        }
        const int64_t total = field.document().fieldCount();
        int64_t from = node.special->skip >= 0 ? node.special->skip
                                               : std::max<int64_t>(0, total + node.special->skip);
        int64_t count = node.special->limit;
        if (count < 0) {  // counts from the end
            from = std::max<int64_t>(0, total + count);
            count = -count;
        }
        Builder array = out->array(field.name());
        int64_t index = 0;
        for (const Element& member : field.document()) {
            if (index >= from && index < from + count) {
                array.pushElement(member);
            }
            ++index;
        }
    }

    void writeElemMatch(const ProjectNode& node, const Element& field, Builder* out) {
        if (!field.isArray()) {
            return;
        }
        for (const Element& member : field.document()) {
            const bool isMatch = matchesValue(*node.special->elemMatch, member);
            if (!context_->mayGoOnWith(0)) {
                return;
            }
            if (isMatch) {
                Builder array = out->array(field.name());
                array.pushElement(member);
                return;
            }
        }
    }

    void writePositional(const ProjectNode& node, const Element& field, Builder* out) {
        if (!field.isArray()) {
            out->add(field);
            return;
        }
        int index =
            matcher_ == nullptr ? -1 : matcher_->matchedIndex(context_->root, node.special->path);
        if (index >= 0) {
            for (const Element& member : field.document()) {
                if (index-- == 0) {
                    Builder array = out->array(field.name());
                    array.pushElement(member);
                    return;
                }
            }
        }
        context_->fail(Reason::kPositionalNoMatch,
                       "Executor error during find command :: caused by :: positional operator "
                       "'.$' couldn't find a matching element in the array");
    }

    ProjectMode mode_;
    const Matcher* matcher_;
    ExprContext* context_;
    int level_ = 0;  // of what is being written; 1: the document's own fields
};

}  // namespace

void projectDocument(const ProjectTree& tree,
                     Document document,
                     const Matcher* matcher,
                     ExprContext* context,
                     Builder* out) {
    context->root = document;
    Projector(tree.mode, matcher, context).writeFields(tree.root, document, out);
}

}  // namespace freshet::query
