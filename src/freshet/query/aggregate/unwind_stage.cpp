// SPDX-License-Identifier: Apache-2.0
/// $unwind: one document per element of an array.
#include "freshet/query/aggregate/nested_field.h"
#include "freshet/query/aggregate/stages.h"

namespace freshet::query {
namespace {

using bson::Builder;
using bson::Document;
using bson::Element;

struct UnwindSpec {
    std::vector<std::string> path;
    std::vector<std::string> indexPath;  // empty: not wanted
    bool keepsEmpty = false;
};

class UnwindStage final : public ChainedStage {
public:
    UnwindStage(PipelineRun& run, StagePtr input, UnwindSpec spec)
        : ChainedStage(run, std::move(input)), spec_(std::move(spec)) {}

    Status next(Output* out) override {
        for (;;) {
            if (inArray_) {
                if (*member_ != Document::Iterator(membersEnd_)) {
                    return giveMember(out);
                }
                inArray_ = false;
            }
            Output in;
            FRESHET_RETURN_IF_ERROR(input().next(&in));
            if (in.isEnd) {
                return out->end();
            }
            bool given = false;
            FRESHET_RETURN_IF_ERROR(start(in.document, &given, out));
            if (given) {
                return Status::ok();
            }
            FRESHET_RETURN_IF_ERROR(checkTurn());
        }
    }

private:
    uint64_t ownBytes() const override {
        return document_.capacity() + unwound_.capacity() + indexed_.capacity();
    }

    /// Takes a new input document: gives it at once, or prepares its members.
    Status start(Document document, bool* given, Output* out) {
        const Element at = nestedField(document, spec_.path);
        if (at.isArray() && !at.document().isEmpty()) {
            document_.assign(document.bytes());
            const Document members = nestedField(Document(document_), spec_.path).document();
            member_.emplace(members.begin());
            membersEnd_ = members.data() + members.size() - 1;
            index_ = 0;
            inArray_ = true;
            return Status::ok();
        }
        const bool nothing = at.isArray() || Value(at).isNullish();
        *given = !nothing || spec_.keepsEmpty;
        if (!*given) {
            return Status::ok();
        }
        if (at.isArray()) {
            Builder builder;
            writeReplaced(document, spec_.path, Element(), &builder);
            document_ = builder.finish();
            return give(Document(document_), Value::null(), out);
        }
        return give(document, Value::null(), out);
    }

    Status giveMember(Output* out) {
        Builder builder;
        writeReplaced(Document(document_), spec_.path, **member_, &builder);
        ++*member_;
        unwound_ = builder.finish();
        return give(Document(unwound_), Value::of(index_++), out);
    }

    Status give(Document unwound, const Value& index, Output* out) {
        if (spec_.indexPath.empty()) {
            return out->give(unwound);
        }
        Builder builder;
        writeReplaced(unwound, spec_.indexPath, index.element(), &builder);
        indexed_ = builder.finish();
        return out->give(Document(indexed_));
    }

    UnwindSpec spec_;
    std::string document_;  // the document whose members are being given
    bool inArray_ = false;
    std::optional<Document::Iterator> member_;
    const char* membersEnd_ = nullptr;
    int64_t index_ = 0;
    std::string unwound_;
    std::string indexed_;
};

Status parseOptions(Document options, UnwindSpec* spec, Element* path) {
    for (const Element& option : options) {
        const std::string type(bson::typeName(option.type()));
        if (option.name() == "path") {
            *path = option;
        } else if (option.name() == "preserveNullAndEmptyArrays") {
            if (option.type() != bson::Type::kBool) {
                return invalid(location(28809),
                               "expected a boolean for the preserveNullAndEmptyArrays option to "
                               "$unwind stage, got " +
                                   type);
            }
            spec->keepsEmpty = option.boolValue();
        } else if (option.name() == "includeArrayIndex") {
            if (!option.isString() || option.stringValue().empty()) {
                return invalid(location(28810),
                               "expected a non-empty string for the includeArrayIndex  option to "
                               "$unwind stage, got " +
                                   type);
            }
            if (option.stringValue().starts_with('$')) {
                return invalid(location(28822),
                               "includeArrayIndex option to $unwind stage should not be prefixed "
                               "with a '$': " +
                                   std::string(option.stringValue()));
            }
            FRESHET_RETURN_IF_ERROR(checkFieldPath(option.stringValue()));
            spec->indexPath = splitPath(option.stringValue());
        } else {
            return invalid(location(28811),
                           "unrecognized option to $unwind stage: " + std::string(option.name()));
        }
    }
    return Status::ok();
}

}  // namespace

StageOr makeUnwind(const PipelineMaker& maker, const Element& spec, StagePtr input) {
    UnwindSpec parsed;
    Element path = spec;
    if (spec.isObject()) {
        path = Element();
        FRESHET_RETURN_IF_ERROR(parseOptions(spec.document(), &parsed, &path));
        if (path.isMissing()) {
            return invalid(location(28812), "no path specified to $unwind stage");
        }
    } else if (!spec.isString()) {
        return invalid(location(15981),
                       "expected either a string or an object as specification for $unwind stage, "
                       "got " +
                           std::string(bson::typeName(spec.type())));
    }
    if (!path.isString()) {
        return invalid(location(28808),
                       "expected a string as the path for $unwind stage, got " +
                           std::string(bson::typeName(path.type())));
    }
    const std::string_view text = path.stringValue();
    if (text.empty()) {
        return invalid(location(28812), "no path specified to $unwind stage");
    }
    if (!text.starts_with('$')) {
        return invalid(
            location(28818),
            "path option to $unwind stage should be prefixed with a '$': " + std::string(text));
    }
    FRESHET_RETURN_IF_ERROR(checkFieldPath(text.substr(1)));
    parsed.path = splitPath(text.substr(1));
    return StagePtr(std::make_unique<UnwindStage>(maker.run, std::move(input), std::move(parsed)));
}

}  // namespace freshet::query
