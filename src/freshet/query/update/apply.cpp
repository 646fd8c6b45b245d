// SPDX-License-Identifier: Apache-2.0
/// Walks a document and an update tree together and writes the changed document.
#include "freshet/query/limits.h"
#include "freshet/query/match/path.h"
#include "freshet/query/update/tree.h"

#include <absl/container/flat_hash_map.h>

#include <algorithm>
#include <charconv>
#include <vector>

namespace freshet::query {
namespace {

using bson::Builder;
using bson::Document;
using bson::Element;

/// Appends one component to the run's path for its own lifetime.
class PathScope {
public:
    PathScope(UpdateRun* run, std::string_view name) : run_(run), bytes_(run->path.size()) {
        if (bytes_ != 0) {
            run->path += '.';
        }
        run->path += name;
    }
    ~PathScope() { run_->path.resize(bytes_); }
    PathScope(const PathScope&) = delete;
    PathScope& operator=(const PathScope&) = delete;

private:
    UpdateRun* run_;
    size_t bytes_;
};

Status applyToElement(const UpdateNode& node,
                      const Element& existing,
                      std::string_view name,
                      bool inArray,
                      UpdateRun* run,
                      Builder* out);

OpTarget targetOf(const UpdateRun& run, const Element& existing) {
    return {run.root, existing, run.path, run.isInsert, run.nowMillis, run.fields};
}

bool createsAnything(const UpdateNode& node, const UpdateRun& run) {
    if (node.op != nullptr) {
        return node.op->creates(targetOf(run, Element()));
    }
    for (const auto& [name, child] : node.children) {
        if (createsAnything(*child, run)) {
            return true;
        }
    }
    return false;
}

Status applyOp(const UpdateOp& op,
               const Element& existing,
               std::string_view name,
               bool inArray,
               UpdateRun* run,
               Builder* out) {
    FRESHET_RETURN_IF_ERROR(mayGoOn());
    FRESHET_ASSIGN_OR_RETURN(const OpResult result, op.apply(targetOf(*run, existing)));
    FRESHET_RETURN_IF_ERROR(mayGoOn());  // $pull's conditions may have ended early
    if (result.what == OpResult::kSet && !result.value.isMissing()) {
        run->changed |= existing.isMissing() || !sameBytes(existing, result.value.element());
        out->addAs(name, result.value.element());
    } else if (result.what == OpResult::kRemove) {
        run->changed = true;
        if (inArray) {
            out->add(name, bson::Null{});  // later elements keep their positions
        }
    } else if (!existing.isMissing()) {
        out->addAs(name, existing);
    }
    return Status::ok();
}

/// The component under which a child is found: $ becomes the index that the filter matched.
StatusOr<std::string> resolved(const std::string& component, const UpdateRun& run) {
    if (component != "$") {
        return component;
    }
    FRESHET_RETURN_IF_ERROR(mayGoOn());
    const int index = run.matcher == nullptr ? -1 : run.matcher->matchedIndex(run.root, run.path);
    FRESHET_RETURN_IF_ERROR(mayGoOn());
    if (index < 0) {
        return badValue("The positional operator did not find the match needed from the query.");
    }
    return std::to_string(index);
}

struct ResolvedChild {
    std::string_view name;
    const UpdateNode* node;
    bool done = false;
};

/// A node's children by the names that they have in one document.
class ResolvedChildren {
public:
    static StatusOr<ResolvedChildren> of(const UpdateNode& node, const UpdateRun& run) {
        ResolvedChildren result;
        result.list_.reserve(node.children.size());
        for (const auto& [component, child] : node.children) {
            std::string_view name = component;
            if (component == "$") {
                FRESHET_ASSIGN_OR_RETURN(std::string index, resolved(component, run));
                if (node.children.contains(index)) {
                    return conflictAt(run.path + "." + component, run.path + "." + index);
                }
                result.matched_ = std::make_unique<std::string>(std::move(index));
                name = *result.matched_;
            }
            result.list_.push_back({name, child.get()});
        }
        for (size_t at = 0; result.list_.size() > kWalkedMax && at < result.list_.size(); ++at) {
            result.positions_.emplace(result.list_[at].name, at);
        }
        return result;
    }

    std::vector<ResolvedChild>& list() { return list_; }
    /// Null if there is none of that name.
    ResolvedChild* find(std::string_view name) {
        if (list_.size() > kWalkedMax) {
            const auto at = positions_.find(name);
            return at == positions_.end() ? nullptr : &list_[at->second];
        }
        const auto at = std::find_if(
            list_.begin(), list_.end(), [name](const auto& child) { return child.name == name; });
        return at == list_.end() ? nullptr : &*at;
    }

private:
    static constexpr size_t kWalkedMax = 8;

    std::vector<ResolvedChild> list_;
    std::unique_ptr<std::string> matched_;  // the name that $ stands for
    absl::flat_hash_map<std::string_view, size_t> positions_;
};

/// The child for an array element under $[] and $[id] components; null if none applies. If several
/// apply, `merged` owns their combination.
StatusOr<const UpdateNode*> elementChild(const UpdateNode& node,
                                         const Element& element,
                                         UpdateRun* run,
                                         std::unique_ptr<UpdateNode>* merged) {
    const UpdateNode* result = nullptr;
    for (const auto& [component, child] : node.children) {
        FRESHET_RETURN_IF_ERROR(mayGoOn());
        if (component != "$[]") {
            const std::string id = component.substr(2, component.size() - 3);
            Builder wrapped;
            wrapped.addAs(id, element);
            const std::string bytes = wrapped.finish();
            bool isMatch = false;
            FRESHET_RETURN_IF_ERROR(run->arrayFilters->at(id)->test(Document(bytes), &isMatch));
            if (!isMatch) {
                continue;
            }
        }
        if (result == nullptr) {
            result = child.get();
            continue;
        }
        if (*merged == nullptr) {
            *merged = cloneNode(*result);
            result = merged->get();
        }
        FRESHET_RETURN_IF_ERROR(mergeInto(merged->get(), *child, run->path));
    }
    return result;
}

Status applyToEachElement(const UpdateNode& node, Document array, UpdateRun* run, Builder* out) {
    for (const Element& element : array) {
        std::unique_ptr<UpdateNode> merged;
        FRESHET_ASSIGN_OR_RETURN(const UpdateNode* child,
                                 elementChild(node, element, run, &merged));
        if (child == nullptr) {
            out->add(element);
            continue;
        }
        PathScope scope(run, element.name());
        FRESHET_RETURN_IF_ERROR(applyToElement(*child, element, element.name(), true, run, out));
    }
    return Status::ok();
}

Status notViable(std::string_view name, const Element& inside) {
    return invalid(
        Reason::kPathNotViable,
        "Cannot create field '" + std::string(name) + "' in element {" + elementText(inside) + "}");
}

/// Whether an operator at or below `node`, whose path is `path`, needs a viable one; *path becomes
/// that operator's.
bool needsViablePath(const UpdateNode& node, std::string* path) {
    if (node.op != nullptr) {
        return node.op->needsViablePath();
    }
    for (const auto& [component, child] : node.children) {
        const size_t bytes = path->size();
        *path += '.' + component;
        if (needsViablePath(*child, path)) {
            return true;
        }
        path->resize(bytes);
    }
    return false;
}

/// An operator that creates nothing meets `inside`, at the run's path, and would have to go on to
/// `component`.
Status checkViable(const UpdateNode& node,
                   const std::string& component,
                   const std::string& at,
                   const Element& inside) {
    std::string path = at + '.' + component;
    return needsViablePath(node, &path)
               ? invalid(Reason::kPathNotViable,
                         "Cannot use the part (" + component + ") of (" + path +
                             ") to traverse the element ({" + elementText(inside) + "})")
               : Status::ok();
}

/// Adds elements after the array's end, with nulls in the gaps.
Status extendArray(const std::vector<ResolvedChild>& children,
                   const Element& array,
                   int64_t count,
                   UpdateRun* run,
                   Builder* out) {
    for (const ResolvedChild& child : children) {
        const int64_t index = arrayIndexOf(child.name);
        if (index < 0) {
            FRESHET_RETURN_IF_ERROR(
                checkViable(*child.node, std::string(child.name), run->path, array));
        }
        PathScope scope(run, child.name);
        if (child.done || !createsAnything(*child.node, *run)) {
            continue;
        }
        if (index < 0) {
            return notViable(child.name, array);
        }
        if (index - count > kArrayPaddingMax) {
            return badValue("Cannot backfill more than " + std::to_string(kArrayPaddingMax) +
                            " elements in the array at path '" + run->path + "'");
        }
        for (; count < index; ++count) {
            out->add(std::to_string(count), bson::Null{});
        }
        FRESHET_RETURN_IF_ERROR(applyToElement(*child.node, Element(), child.name, true, run, out));
        ++count;
    }
    return Status::ok();
}

Status applyToArray(const UpdateNode& node, const Element& array, UpdateRun* run, Builder* out) {
    if (node.isForElements()) {
        return applyToEachElement(node, array.document(), run, out);
    }
    FRESHET_ASSIGN_OR_RETURN(ResolvedChildren children, ResolvedChildren::of(node, *run));
    int64_t count = 0;
    for (const Element& element : array.document()) {
        // Elements are found by position: the names in an array may be anything.
        char digits[20];
        const auto end = std::to_chars(std::begin(digits), std::end(digits), count++).ptr;
        ResolvedChild* const hit = children.find({digits, static_cast<size_t>(end - digits)});
        if (hit == nullptr) {
            out->add(element);
            continue;
        }
        hit->done = true;
        PathScope scope(run, hit->name);
        FRESHET_RETURN_IF_ERROR(
            applyToElement(*hit->node, element, element.name(), true, run, out));
    }
    return extendArray(children.list(), array, count, run, out);
}

/// Nothing exists at the path: creates objects down to what the operators create.
Status applyToMissing(const UpdateNode& node, std::string_view name, UpdateRun* run, Builder* out) {
    if (node.isForElements()) {
        return badValue("The path '" + run->path +
                        "' must exist in the document in order to apply array updates.");
    }
    if (!createsAnything(node, *run)) {
        return Status::ok();
    }
    Builder object = out->object(name);
    return applyToDocument(node, Document(), run, &object);
}

Status applyToElement(const UpdateNode& node,
                      const Element& existing,
                      std::string_view name,
                      bool inArray,
                      UpdateRun* run,
                      Builder* out) {
    if (node.op != nullptr) {
        return applyOp(*node.op, existing, name, inArray, run, out);
    }
    if (existing.isMissing()) {
        return applyToMissing(node, name, run, out);
    }
    if (existing.isArray()) {
        Builder array = out->array(name);
        return applyToArray(node, existing, run, &array);
    }
    if (node.isForElements()) {
        return badValue("Cannot apply array updates to non-array element " + elementText(existing));
    }
    if (existing.isObject()) {
        Builder object = out->object(name);
        return applyToDocument(node, existing.document(), run, &object);
    }
    if (createsAnything(node, *run)) {
        FRESHET_ASSIGN_OR_RETURN(const std::string first,
                                 resolved(node.children.begin()->first, *run));
        return notViable(first, existing);
    }
    for (const auto& [component, child] : node.children) {
        FRESHET_ASSIGN_OR_RETURN(const std::string part, resolved(component, *run));
        FRESHET_RETURN_IF_ERROR(checkViable(*child, part, run->path, existing));
    }
    out->addAs(name, existing);
    return Status::ok();
}

}  // namespace

Status applyToDocument(const UpdateNode& node, Document document, UpdateRun* run, Builder* out) {
    FRESHET_ASSIGN_OR_RETURN(ResolvedChildren children, ResolvedChildren::of(node, *run));
    for (const Element& field : document) {
        ResolvedChild* const hit = children.find(field.name());
        if (hit == nullptr || hit->done) {
            out->add(field);
            continue;
        }
        hit->done = true;
        PathScope scope(run, hit->name);
        FRESHET_RETURN_IF_ERROR(applyToElement(*hit->node, field, field.name(), false, run, out));
    }
    for (const ResolvedChild& child : children.list()) {
        if (child.done) {
            continue;
        }
        PathScope scope(run, child.name);
        FRESHET_RETURN_IF_ERROR(
            applyToElement(*child.node, Element(), child.name, false, run, out));
    }
    return Status::ok();
}

}  // namespace freshet::query
