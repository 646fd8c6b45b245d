// SPDX-License-Identifier: Apache-2.0
/// $unwind: one document per element of an array.
#include "freshet/query/aggregate/stages.h"

namespace freshet::query {
namespace {

using bson::Builder;
using bson::Document;
using bson::Element;

/// Writes `document` with the value at `parts` (from `at`) replaced, or left out when `value` is
/// missing. Objects on the way are made where there are none.
void writeReplaced(Document document,
                   const std::vector<std::string>& parts,
                   size_t at,
                   const Element& value,
                   Builder* out) {
    const bool last = at + 1 == parts.size();
    bool found = false;
    const auto writeHere = [&](const Element& existing) {
        found = true;
        if (last) {
            if (!value.isMissing()) {
                out->addAs(parts[at], value);
            }
            return;
        }
        Builder object = out->object(parts[at]);
        writeReplaced(
            existing.isObject() ? existing.document() : Document(), parts, at + 1, value, &object);
    };
    for (const Element& field : document) {
        if (!found && field.name() == parts[at]) {
            writeHere(field);
        } else {
            out->add(field);
        }
    }
    if (!found && !value.isMissing()) {
        writeHere(Element());
    }
}

class UnwindStage final : public Stage {
public:
    std::vector<std::string> path;
    std::vector<std::string> indexPath;  // empty: not wanted
    bool keepsEmpty = false;

    Status push(Document document, Documents* out) override {
        const Element at = elementAt(document);
        if (!at.isArray()) {
            const bool nothing = Value(at).isNullish();
            if (!nothing || keepsEmpty) {
                emit(document, Value::null(), out);
            }
            return Status::ok();
        }
        if (at.document().isEmpty()) {
            if (keepsEmpty) {
                Builder builder;
                writeReplaced(document, path, 0, Element(), &builder);
                const std::string bytes = builder.finish();
                emit(Document(bytes), Value::null(), out);
            }
            return Status::ok();
        }
        int64_t index = 0;
        size_t bytes = 0;
        for (const Element& member : at.document()) {
            Builder builder;
            writeReplaced(document, path, 0, member, &builder);
            const std::string one = builder.finish();
            emit(Document(one), Value::of(index++), out);
            bytes += one.size();
            if (bytes > kStageBytesMax) {
                return exceededMemory("$unwind");
            }
        }
        return Status::ok();
    }
    Status finish(Documents*) override { return Status::ok(); }

private:
    /// Arrays on the way are not entered: {$unwind: "$a.b"} wants objects down to b.
    Element elementAt(Document document) const {
        Element at = document.find(path[0]);
        for (size_t i = 1; i < path.size(); ++i) {
            if (!at.isObject()) {
                return {};
            }
            at = at.document().find(path[i]);
        }
        return at;
    }

    void emit(Document unwound, const Value& index, Documents* out) const {
        if (indexPath.empty()) {
            out->emplace_back(unwound);
            return;
        }
        Builder builder;
        writeReplaced(unwound, indexPath, 0, index.element(), &builder);
        out->emplace_back(builder.finish());
    }
};

Status parseOptions(Document options, UnwindStage* stage, Element* path) {
    for (const Element& option : options) {
        if (option.name() == "path") {
            *path = option;
        } else if (option.name() == "preserveNullAndEmptyArrays") {
            if (option.type() != bson::Type::kBool) {
                return badValue(
                    "expected a boolean for the preserveNullAndEmptyArrays option to "
                    "$unwind stage, got " +
                    std::string(bson::typeName(option.type())));
            }
            stage->keepsEmpty = option.boolValue();
        } else if (option.name() == "includeArrayIndex") {
            if (!option.isString() || option.stringValue().empty()) {
                return badValue(
                    "expected a non-empty string for the includeArrayIndex  option to "
                    "$unwind stage, got " +
                    std::string(bson::typeName(option.type())));
            }
            if (option.stringValue().starts_with('$')) {
                return badValue(
                    "includeArrayIndex option to $unwind stage should not be prefixed "
                    "with a '$': " +
                    std::string(option.stringValue()));
            }
            stage->indexPath = splitPath(option.stringValue());
        } else {
            return badValue("unrecognized option to $unwind stage: " + std::string(option.name()));
        }
    }
    return Status::ok();
}

}  // namespace

Status parseUnwind(const Element& spec, std::vector<StagePtr>* out) {
    auto stage = std::make_unique<UnwindStage>();
    Element path = spec;
    if (spec.isObject()) {
        path = Element();
        FRESHET_RETURN_IF_ERROR(parseOptions(spec.document(), stage.get(), &path));
        if (path.isMissing()) {
            return badValue("no path specified to $unwind stage");
        }
    } else if (!spec.isString()) {
        return invalid(Reason::kSpecNotObject,
                       "expected either a string or an object as specification for $unwind stage, "
                       "got " +
                           std::string(bson::typeName(spec.type())));
    }
    if (!path.isString()) {
        return badValue("expected a string as the path for $unwind stage, got " +
                        std::string(bson::typeName(path.type())));
    }
    const std::string_view text = path.stringValue();
    if (!text.starts_with('$')) {
        return badValue("path option to $unwind stage should be prefixed with a '$': " +
                        std::string(text));
    }
    if (text.size() == 1 || text.ends_with('.') || text.find("..") != text.npos) {
        return invalid(Reason::kFieldPathInvalid, "'$' by itself is not a valid FieldPath");
    }
    stage->path = splitPath(text.substr(1));
    out->push_back(std::move(stage));
    return Status::ok();
}

}  // namespace freshet::query
