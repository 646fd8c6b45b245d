// SPDX-License-Identifier: Apache-2.0
/// Parses a whole update, applies it, and makes the document of an upsert.
#include "freshet/bson/compare.h"
#include "freshet/bson/json.h"
#include "freshet/platform/clock.h"
#include "freshet/query/limits.h"
#include "freshet/query/match/path.h"
#include "freshet/query/transform.h"
#include "freshet/query/update.h"
#include "freshet/query/update/array_filters.h"
#include "freshet/query/update/tree.h"

#include <algorithm>

namespace freshet::query {

using bson::Document;
using bson::Element;
using bson::OwnedDocument;
using bson::Type;

struct UpdateProgram::Impl {
    bson::SharedDocument update;
    OwnedDocument filters;
    bool isReplacement = false;
    bool movesValues = false;
    std::unique_ptr<DocumentPipeline> pipeline;  // replaces everything below
    UpdateNode root;
    ArrayFilters arrayFilters;
};

namespace {

Status checkReplacement(Document update) {
    for (const Element& field : update) {
        if (field.name().starts_with('$')) {
            const std::string name(field.name());
            return invalid(Reason::kDollarPrefixedFieldName,
                           "The dollar ($) prefixed field '" + name + "' in '" + name +
                               "' is not allowed in the context of an update's replacement "
                               "document. Consider using an aggregation pipeline with "
                               "$replaceWith.");
        }
    }
    return Status::ok();
}

Status addRename(const Element& element, UpdateNode* root) {
    const std::string shown = elementText(element);
    if (!element.isString()) {
        return badValue("The 'to' field for $rename must be a string: " + shown);
    }
    const std::string from(element.name());
    const std::string to(element.stringValue());
    FRESHET_RETURN_IF_ERROR(checkPath(to));
    if (from.find(".$") != from.npos) {
        return badValue("The source field for $rename may not be dynamic: " + from);
    }
    if (to.find(".$") != to.npos) {
        return badValue("The destination field for $rename may not be dynamic: " + to);
    }
    if (from == to) {
        return badValue("The source and target field for $rename must differ: " + shown);
    }
    if (from.starts_with(to + ".") || to.starts_with(from + ".")) {
        return badValue("The source and target field for $rename must not be on the same path: " +
                        shown);
    }
    FRESHET_RETURN_IF_ERROR(addOp(root, from, makeUnset()));
    return addOp(root, to, makeRenameTarget(from));
}

/// The error of bson::checkNesting().
Status tooDeep() {
    return invalid(
        Reason::kOverflow,
        "Document exceeds maximum nesting depth of " + std::to_string(bson::kNestingMax));
}

Status addField(std::string_view modifier,
                const Element& field,
                UpdateNode* root,
                bool* movesValues) {
    FRESHET_RETURN_IF_ERROR(mayGoOn());
    FRESHET_RETURN_IF_ERROR(checkPath(field.name()));
    if (modifier == "$rename") {
        *movesValues = true;
        return addRename(field, root);
    }
    FRESHET_ASSIGN_OR_RETURN(OpPtr op, parseOp(modifier, field));
    const auto dots = std::count(field.name().begin(), field.name().end(), '.');
    if (dots + 1 + op->depth() > bson::kNestingMax) {
        return tooDeep();
    }
    return addOp(root, field.name(), std::move(op));
}

Status addModifier(const Element& modifier, UpdateNode* root, bool* movesValues) {
    const std::string_view name = modifier.name();
    if (!isModifier(name)) {
        return parseOp(name, modifier).status();
    }
    if (!modifier.isObject()) {
        return invalid(Reason::kFailedToParse,
                       "Modifiers operate on fields but we found type " +
                           std::string(bson::typeName(modifier.type())) +
                           " instead. For example: {$mod: {<field>: ...}} not {" +
                           elementText(modifier) + "}");
    }
    for (const Element& field : modifier.document()) {
        FRESHET_RETURN_IF_ERROR(addField(name, field, root, movesValues));
    }
    return Status::ok();
}

/// Looks along the path of a $rename. *array: the name of the first array on the way, which it
/// cannot reach into; empty: there is none. An error if the source's path leads through a value
/// that has no fields.
Status walkRename(Document before,
                  const std::string& path,
                  bool isSource,
                  FieldFinder* fields,
                  std::string* array) {
    Document at = before;
    size_t start = 0;
    for (size_t dot = path.find('.'); dot != path.npos; dot = path.find('.', dot + 1)) {
        const Element element = fields->find(at, path.substr(start, dot - start));
        start = dot + 1;
        const std::string next = path.substr(start, path.find('.', start) - start);
        if (element.isArray() && (!isSource || arrayIndexOf(next) >= 0)) {
            *array = element.name();
            return Status::ok();
        }
        if (element.isObject()) {
            at = element.document();
            continue;
        }
        if (element.isMissing() || !isSource) {
            return Status::ok();
        }
        return invalid(Reason::kPathNotViable,
                       "cannot use the part (" + next + " of " + path +
                           ") to traverse the element ({" + elementText(element) + "})");
    }
    return Status::ok();
}

/// $rename cannot reach into arrays, neither to take a value nor to store one.
Status checkRenames(Document update, Document before, FieldFinder* fields) {
    const Element renames = update.find("$rename");
    if (!renames.isObject()) {
        return Status::ok();
    }
    for (const Element& rename : renames.document()) {
        for (const bool isSource : {true, false}) {
            const std::string path(isSource ? rename.name() : rename.stringValue());
            std::string array;
            FRESHET_RETURN_IF_ERROR(walkRename(before, path, isSource, fields, &array));
            if (!array.empty()) {
                return badValue(std::string("The ") + (isSource ? "source" : "destination") +
                                " field cannot be an array element, '" + path + "' in doc with " +
                                "_id: " + bson::toShellText(before.find("_id")) +
                                " has an array field called '" + array + "'");
            }
        }
    }
    return Status::ok();
}

Status checkSize(const std::string& bytes) {
    if (bytes.size() > bson::kDocumentBytesMax) {
        return invalid(location(17419),
                       "Resulting document after update is larger than " +
                           std::to_string(bson::kDocumentBytesMax));
    }
    return Status::ok();
}

/// `replacement` with `id` in front; an _id of its own is left out.
std::string withIdInFront(const Element& id, Document document) {
    bson::Builder builder;
    if (!id.isMissing()) {
        builder.addAs("_id", id);
    }
    for (const Element& field : document) {
        if (field.name() != "_id") {
            builder.add(field);
        }
    }
    return builder.finish();
}

Status immutableId(const Element& after) {
    return invalid(Reason::kImmutableField,
                   "After applying the update, the (immutable) field '_id' was found to have been "
                   "altered to " +
                       elementText(after));
}

/// The _id may be set to an equal value, even of another numeric type, but not changed: the stored
/// form stays.
Status keepId(const Element& oldId, std::string* bytes) {
    const Element newId = Document(*bytes).find("_id");
    if (newId.isMissing() != oldId.isMissing() ||
        (!newId.isMissing() && !bson::equalValues(newId, oldId))) {
        return invalid(Reason::kImmutableField,
                       "Performing an update on the path '_id' would modify the immutable field "
                       "'_id'");
    }
    if (!newId.isMissing() && !sameBytes(newId, oldId)) {
        *bytes = withIdInFront(oldId, Document(*bytes));
    }
    return Status::ok();
}

StatusOr<OwnedDocument> replace(Document replacement, const Element& oldId) {
    const Element newId = replacement.find("_id");
    if (!newId.isMissing() && !oldId.isMissing() && !bson::equalValues(oldId, newId)) {
        return immutableId(newId);
    }
    std::string bytes = withIdInFront(oldId.isMissing() ? newId : oldId, replacement);
    FRESHET_RETURN_IF_ERROR(checkSize(bytes));
    return OwnedDocument(std::move(bytes));
}

/// Fields that an upsert takes from its filter: those with an equality.
Status collectEqualities(const MatchNode& node, UpdateNode* root) {
    if (node.op == MatchOp::kAnd) {
        for (const auto& child : node.children) {
            FRESHET_RETURN_IF_ERROR(collectEqualities(*child, root));
        }
        return Status::ok();
    }
    const bool oneOf =
        node.op == MatchOp::kIn && node.operands.size() == 1 && node.children.empty();
    if (node.op != MatchOp::kEq && !oneOf) {
        return Status::ok();
    }
    FRESHET_RETURN_IF_ERROR(checkPath(node.path));
    const Status added = addOp(root, node.path, makeSet(oneOf ? node.operands[0] : node.operand));
    if (!added.isOk()) {
        return invalid(
            Reason::kNotSingleValueField,
            "cannot infer query fields to set, path '" + node.path + "' is matched twice");
    }
    return added;
}

StatusOr<OwnedDocument> equalityDocument(const Matcher& filter) {
    UpdateNode root;
    FRESHET_RETURN_IF_ERROR(collectEqualities(filter.root(), &root));
    UpdateRun run;
    bson::Builder builder;
    FRESHET_RETURN_IF_ERROR(applyToDocument(root, Document(), &run, &builder));
    return OwnedDocument(builder.finish());
}

StatusOr<OwnedDocument> finishUpsert(Document document) {
    const Element id = document.find("_id");
    if (id.isArray() || id.type() == Type::kRegex || id.type() == Type::kUndefined) {
        return invalid(
            Reason::kInvalidIdField,
            "The '_id' value cannot be of type " + std::string(bson::typeName(id.type())));
    }
    Value made;
    if (id.isMissing()) {
        made = Value::of(bson::ObjectId::generate());
    }
    std::string bytes = withIdInFront(id.isMissing() ? made.element() : id, document);
    if (bytes.size() > bson::kDocumentBytesMax) {
        return invalid(
            location(17420),
            "Document to upsert is larger than " + std::to_string(bson::kDocumentBytesMax));
    }
    FRESHET_RETURN_IF_ERROR(bson::checkNesting(Document(bytes)));
    return OwnedDocument(std::move(bytes));
}

/// Whether the document's first field is this very element.
bool startsWith(Document document, const Element& element) {
    return !element.isMissing() && !document.isEmpty() &&
           document.begin()->whole() == element.whole();
}

/// The pipeline's result with the required _id: `oldId`, unless that is missing.
StatusOr<OwnedDocument> runPipeline(const DocumentPipeline& pipeline,
                                    Document before,
                                    const Element& oldId) {
    FRESHET_ASSIGN_OR_RETURN(OwnedDocument made, pipeline.apply(before));
    const Element newId = made.view().find("_id");
    if (!oldId.isMissing() && !newId.isMissing() && !bson::equalValues(oldId, newId)) {
        return invalid(Reason::kImmutableField,
                       "Performing an update on the path '_id' would modify the immutable field "
                       "'_id'");
    }
    const Element id = oldId.isMissing() ? newId : oldId;
    if (!startsWith(made.view(), id)) {
        made = OwnedDocument(withIdInFront(id, made.view()));
    }
    FRESHET_RETURN_IF_ERROR(checkSize(made.bytes()));
    FRESHET_RETURN_IF_ERROR(bson::checkNesting(made.view()));
    return made;
}

}  // namespace

UpdateProgram::UpdateProgram(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
UpdateProgram::~UpdateProgram() = default;

StatusOr<std::unique_ptr<UpdateProgram>> UpdateProgram::compile(bson::SharedDocument update,
                                                                Document arrayFilters) {
    auto impl = std::make_unique<Impl>();
    impl->update = std::move(update);
    impl->filters = OwnedDocument(arrayFilters);
    const Document own = impl->update.view();
    impl->isReplacement = own.isEmpty() || !own.begin()->name().starts_with('$');
    if (impl->isReplacement) {
        if (!arrayFilters.isEmpty()) {
            return invalid(Reason::kFailedToParse,
                           "arrayFilters may not be specified for replacement-style updates");
        }
        FRESHET_RETURN_IF_ERROR(checkReplacement(own));
        FRESHET_RETURN_IF_ERROR(bson::checkNesting(own));
        return std::unique_ptr<UpdateProgram>(new UpdateProgram(std::move(impl)));
    }
    FRESHET_ASSIGN_OR_RETURN(impl->arrayFilters, parseArrayFilters(impl->filters.view()));
    for (const Element& modifier : own) {
        FRESHET_RETURN_IF_ERROR(addModifier(modifier, &impl->root, &impl->movesValues));
    }
    FRESHET_RETURN_IF_ERROR(checkFilterUse(impl->root, impl->arrayFilters, own));
    return std::unique_ptr<UpdateProgram>(new UpdateProgram(std::move(impl)));
}

StatusOr<std::unique_ptr<UpdateProgram>> UpdateProgram::compilePipeline(Document stages,
                                                                        Document variables) {
    auto impl = std::make_unique<Impl>();
    FRESHET_ASSIGN_OR_RETURN(impl->pipeline, DocumentPipeline::parse(stages, variables));
    return std::unique_ptr<UpdateProgram>(new UpdateProgram(std::move(impl)));
}

bool UpdateProgram::isReplacement() const {
    return impl_->isReplacement;
}

StatusOr<OwnedDocument> UpdateProgram::apply(Document before,
                                             const Matcher* matcher,
                                             bool* changed) const {
    if (impl_->pipeline != nullptr) {
        FRESHET_ASSIGN_OR_RETURN(OwnedDocument after,
                                 runPipeline(*impl_->pipeline, before, before.find("_id")));
        *changed = after.view().bytes() != before.bytes();
        return after;
    }
    if (impl_->isReplacement) {
        FRESHET_ASSIGN_OR_RETURN(OwnedDocument after,
                                 replace(impl_->update.view(), before.find("_id")));
        *changed = after.view().bytes() != before.bytes();
        return after;
    }
    FieldFinder fields;
    FRESHET_RETURN_IF_ERROR(checkRenames(impl_->update.view(), before, &fields));
    UpdateRun run;
    run.root = before;
    run.fields = &fields;
    run.arrayFilters = &impl_->arrayFilters;
    run.matcher = matcher;
    run.nowMillis = platform::wallMillis();
    bson::Builder builder;
    FRESHET_RETURN_IF_ERROR(applyToDocument(impl_->root, before, &run, &builder));
    std::string bytes = builder.finish();
    *changed = run.changed;
    if (!run.changed) {
        return OwnedDocument(before);
    }
    FRESHET_RETURN_IF_ERROR(checkSize(bytes));
    FRESHET_RETURN_IF_ERROR(keepId(before.find("_id"), &bytes));
    *changed = bytes != before.bytes();
    if (impl_->movesValues) {
        FRESHET_RETURN_IF_ERROR(bson::checkNesting(Document(bytes)));
    }
    return OwnedDocument(std::move(bytes));
}

StatusOr<OwnedDocument> UpdateProgram::makeUpsert(const Matcher& filter) const {
    if (impl_->pipeline != nullptr) {
        FRESHET_ASSIGN_OR_RETURN(const OwnedDocument equal, equalityDocument(filter));
        FRESHET_ASSIGN_OR_RETURN(
            const OwnedDocument made,
            runPipeline(*impl_->pipeline, equal.view(), equal.view().find("_id")));
        return finishUpsert(made.view());
    }
    if (impl_->isReplacement) {
        FRESHET_ASSIGN_OR_RETURN(const OwnedDocument equal, equalityDocument(filter));
        FRESHET_ASSIGN_OR_RETURN(const OwnedDocument made,
                                 replace(impl_->update.view(), equal.view().find("_id")));
        return finishUpsert(made.view());
    }
    FRESHET_ASSIGN_OR_RETURN(const OwnedDocument base, equalityDocument(filter));
    UpdateRun run;
    FieldFinder fields;
    run.root = base.view();
    run.fields = &fields;
    run.arrayFilters = &impl_->arrayFilters;
    run.isInsert = true;
    run.nowMillis = platform::wallMillis();
    bson::Builder builder;
    FRESHET_RETURN_IF_ERROR(checkRenames(impl_->update.view(), base.view(), &fields));
    FRESHET_RETURN_IF_ERROR(applyToDocument(impl_->root, base.view(), &run, &builder));
    std::string bytes = builder.finish();
    const Element baseId = base.view().find("_id");
    if (!baseId.isMissing()) {
        FRESHET_RETURN_IF_ERROR(keepId(baseId, &bytes));
    }
    const OwnedDocument made(std::move(bytes));
    return finishUpsert(made.view());
}

}  // namespace freshet::query
