// SPDX-License-Identifier: Apache-2.0
/// Walks a document and a projection's tree side by side and writes the result.
#include "freshet/query/project/tree.h"

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
        uint64_t written =
            0;  // children met in the document, by position; later ones are looked up
        for (const Element& field : document) {
            const size_t at = indexOf(node, field.name());
            if (at == node.children.size()) {
                if (mode_ != ProjectMode::kInclude) {
                    out->add(field);
                }
                continue;
            }
            if (writeField(*node.children[at].node, field, out) && at < 64) {
                written |= uint64_t{1} << at;
            }
        }
        if (node.computes) {
            writeComputed(node, document, written, out);
        }
    }

private:
    static size_t indexOf(const ProjectNode& node, std::string_view name) {
        size_t at = 0;
        while (at < node.children.size() && node.children[at].name != name) {
            ++at;
        }
        return at;
    }

    /// A field that the document has. False when a computed value is still to come.
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
            return false;  // an object takes the scalar's place
        } else if (mode_ != ProjectMode::kInclude) {
            out->add(field);
        }
        return true;
    }

    void writeArray(const ProjectNode& node, Document array, Builder* out) {
        for (const Element& member : array) {
            if (member.isObject()) {
                Builder object = out->object(out->nextIndex());
                writeFields(node, member.document(), &object);
            } else if (member.isArray()) {
                Builder inner = out->array(out->nextIndex());
                writeArray(node, member.document(), &inner);
            } else if (node.computes) {
                Builder object = out->object(out->nextIndex());
                writeFields(node, Document(), &object);
            } else if (mode_ != ProjectMode::kInclude) {
                out->pushElement(member);
            }
        }
    }

    /// Values of fields that the document does not have, or that go behind the included ones.
    void writeComputed(const ProjectNode& node, Document document, uint64_t written, Builder* out) {
        for (size_t at = 0; at < node.children.size(); ++at) {
            const ProjectNode::Child& child = node.children[at];
            const bool done =
                at < 64 ? ((written >> at) & 1) != 0 : isWrittenInPlace(child, document);
            if (!child.node->computes || done) {
                continue;
            }
            if (child.node->kind == ProjectNode::kComputed) {
                compute(*child.node, child.name, out);
            } else {
                Builder object = out->object(child.name);
                writeFields(*child.node, Document(), &object);
            }
        }
    }

    bool isWrittenInPlace(const ProjectNode::Child& child, Document document) const {
        const Element field = document.find(child.name);
        if (child.node->kind == ProjectNode::kComputed) {
            return mode_ == ProjectMode::kAddFields && !field.isMissing();
        }
        return field.isObject() || field.isArray();
    }

    void compute(const ProjectNode& node, std::string_view name, Builder* out) {
        const Value value = node.expression->evaluate(*context_);
        if (!value.isMissing()) {
            out->addAs(name, value.element());
        }
    }

    static void writeSlice(const ProjectNode& node, const Element& field, Builder* out) {
        if (!field.isArray()) {
            out->add(field);
            return;
        }
        const int64_t total = field.document().fieldCount();
        int64_t from = node.skip >= 0 ? node.skip : std::max<int64_t>(0, total + node.skip);
        int64_t count = node.limit;
        if (count < 0) {  // the last ones
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

    static void writeElemMatch(const ProjectNode& node, const Element& field, Builder* out) {
        if (!field.isArray()) {
            return;
        }
        for (const Element& member : field.document()) {
            if (matchesValue(*node.elemMatch, member)) {
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
        int index = matcher_ == nullptr ? -1 : matcher_->matchedIndex(context_->root, node.path);
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
