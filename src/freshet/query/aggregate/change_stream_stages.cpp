// SPDX-License-Identifier: Apache-2.0
/// The stages of pipelines over a TailSource: $changeStream, $changeStreamSplitLargeEvent, and the
/// check behind the last one that each event can be resumed from.
#include "freshet/base/free_memory.h"
#include "freshet/bson/json.h"
#include "freshet/query/aggregate.h"
#include "freshet/query/aggregate/stages.h"
#include "freshet/query/aggregate/step.h"

#include <algorithm>
#include <cstdio>
#include <utility>

namespace freshet::query {
namespace {

using bson::Document;
using bson::Element;

constexpr std::string_view kChangeStream = "$changeStream";
constexpr std::string_view kSplit = "$changeStreamSplitLargeEvent";
/// Of an event, or of a part of it, together with its token: the reply has the token once more.
constexpr size_t kEventBytesMax = bson::kInternalDocumentBytesMax - 8 * 1024;

bool isPermitted(std::string_view stage) {
    // A second $changeStream gets an error of its own.
    return stage == "$match" || stage == "$redact" || stage == kSplit || stage == kChangeStream ||
           isStep(stage);
}

Status fatal(std::string text) {
    return invalid(Reason::kChangeStreamFatalError, std::move(text));
}

Status notTheLast() {
    return invalid(location(7182802),
                   std::string(kSplit) + " must be the last stage in the pipeline");
}

/// {_id: ...}, or {} for a missing one.
std::string shownId(const Element& id) {
    bson::Builder builder;
    if (!id.isMissing()) {
        builder.addAs("_id", id);
    }
    return bson::toShellText(Document(builder.finish()));
}

Status checkToken(const Tail& tail, Document event) {
    const Element id = event.find("_id");
    if (!id.isMissing() && id.whole() == tail.id.whole()) {
        return Status::ok();
    }
    return fatal(
        "Encountered an event whose _id field, which contains the resume token, was modified by "
        "the pipeline. Modifying the _id field of an event makes it impossible to resume the "
        "stream from that point. Only transformations that retain the unmodified _id field are "
        "allowed. Expected: " +
        shownId(tail.id) + " but found: " + shownId(id));
}

Status checkSize(Document event) {
    if (event.size() <= bson::kInternalDocumentBytesMax) {
        return Status::ok();
    }
    char hex[16];
    std::snprintf(hex, sizeof(hex), "%X", event.size());
    const Element first = *event.begin();
    return invalid(Reason::kBsonObjectTooLarge,
                   "BSONObj size: " + std::to_string(event.size()) + " (0x" + hex +
                       ") is invalid. Size must be between 0 and " +
                       std::to_string(bson::kInternalDocumentBytesMax) + "(16MB) First element: " +
                       std::string(first.name()) + ": " + bson::toShellText(first));
}

class ChangeStreamStage final : public Stage {
public:
    explicit ChangeStreamStage(PipelineRun& run) : run_(run), tail_(*run.tail()) {}
    uint64_t heldBytes() const override { return tail_.source->heldBytes(); }

    Status next(Output* out) override {
        tail_.isDry = false;
        if (tail_.source->isOver()) {
            return out->end();
        }
        FRESHET_RETURN_IF_ERROR(run_.checkTurn());
        Document event;
        Status status = tail_.source->next(&event);
        if (status.isWouldBlock()) {
            tail_.isDry = tail_.source->isDry();
            run_.waitFor(tail_.source->token());
        }
        FRESHET_RETURN_IF_ERROR(std::move(status));
        ++tail_.given;
        tail_.id = event.find("_id");
        return out->give(event);
    }

private:
    PipelineRun& run_;
    Tail& tail_;
};

/// Behind the last stage that a client may have written.
class CheckedStage final : public ChainedStage {
public:
    CheckedStage(PipelineRun& run, StagePtr input) : ChainedStage(run, std::move(input)) {}

    Status next(Output* out) override {
        FRESHET_RETURN_IF_ERROR(input().next(out));
        if (!out->isEnd) {
            FRESHET_RETURN_IF_ERROR(checkToken(*run_.tail(), out->document));
            FRESHET_RETURN_IF_ERROR(checkSize(out->document));
        }
        return Status::ok();
    }
};

/// Gives a large event in parts, each with some of its fields: {_id, splitEvent, ...}. While there
/// are parts left, the stages before it are not called and the event's bytes remain valid: what a
/// TailSource gives does not depend on a snapshot (INV-2).
class SplitStage final : public ChainedStage {
public:
    SplitStage(PipelineRun& run, StagePtr input)
        : ChainedStage(run, std::move(input)), tail_(*run.tail()) {}

    Status next(Output* out) override {
        while (at_ == starts_.size()) {
            freeMemory(&bytes_);
            FRESHET_RETURN_IF_ERROR(input().next(out));
            if (out->isEnd) {
                return Status::ok();
            }
            const size_t tokenBytes = tail_.id.value().size();
            const bool isLarge = out->document.size() + tokenBytes > kEventBytesMax;
            FRESHET_ASSIGN_OR_RETURN(const size_t skipped, partsToSkip(isLarge));
            if (!isLarge) {
                return checkToken(tail_, out->document);
            }
            FRESHET_RETURN_IF_ERROR(split(out->document, kEventBytesMax - tokenBytes));
            if (skipped > starts_.size()) {
                return fatal(
                    "Attempted to resume from a split event, but the resumed stream produced a "
                    "different split. Ensure that the pipeline used to resume is the same as the "
                    "original");
            }
            at_ = skipped;
        }
        return givePart(out);
    }

private:
    uint64_t ownBytes() const override {
        return bytes_.capacity() + fields_.capacity() * sizeof(Element);
    }

    /// How many parts of this event the client has.
    StatusOr<size_t> partsToSkip(bool isLarge) {
        const int32_t parts = std::exchange(tail_.skipParts, 0);
        if (parts == 0) {
            return size_t{0};
        }
        if (tail_.given > 1) {
            return fatal("cannot resume stream; the resume token was not found. " +
                         bson::toShellText(tail_.id));
        }
        if (!isLarge) {
            return fatal(
                "Attempted to resume from a split event fragment, but the event in the resumed "
                "stream was not large enough to be split");
        }
        return static_cast<size_t>(parts);
    }

    /// The fields of a part that are not the event's.
    void addHead(size_t part, bson::Builder* out) const {
        out->add("_id", tail_.source->tokenOfPart(static_cast<int32_t>(part)).view());
        out->object("splitEvent")
            .add("fragment", static_cast<int32_t>(part) + 1)
            .add("of", static_cast<int32_t>(starts_.size()));
    }

    /// Small fields first: the first part has as many as possible. The same event is always split
    /// in the same way, so that a client can resume between two parts.
    Status split(Document event, size_t bytesMax) {
        collectFields(event);
        if (fields_.empty()) {
            return invalid(location(7182502),
                           "Cannot split an empty event or an event containing solely '_id' field");
        }
        starts_.clear();
        for (size_t i = 0; i < fields_.size();) {
            starts_.push_back(i);
            bson::Builder head;
            addHead(starts_.size() - 1, &head);
            size_t bytes = head.finish().size() + fields_[i++].whole().size();
            while (i < fields_.size() && bytes + fields_[i].whole().size() <= bytesMax) {
                bytes += fields_[i++].whole().size();
            }
            if (bytes > bytesMax) {
                return invalid(location(7182500),
                               "Splitting change event failed: fragment size " +
                                   std::to_string(bytes) +
                                   " is greater than maximum allowed fragment size " +
                                   std::to_string(bytesMax));
            }
        }
        return Status::ok();
    }

    void collectFields(Document event) {
        fields_.clear();
        for (const Element& field : event) {
            if (field.name() != "_id") {
                fields_.push_back(field);
            }
        }
        std::sort(fields_.begin(), fields_.end(), [](const Element& a, const Element& b) {
            return std::pair(a.whole().size(), a.name()) < std::pair(b.whole().size(), b.name());
        });
    }

    Status givePart(Output* out) {
        const size_t end = at_ + 1 < starts_.size() ? starts_[at_ + 1] : fields_.size();
        bson::Builder builder;
        addHead(at_, &builder);
        for (size_t i = starts_[at_]; i < end; ++i) {
            builder.reserve(fields_[i].whole().size());
            builder.add(fields_[i]);
        }
        bytes_ = builder.finish();
        tail_.partsLeft = starts_.size() - ++at_;
        return out->give(Document(bytes_));
    }

    Tail& tail_;
    std::vector<Element> fields_;  // of the event that is being split, in their order in the parts
    std::vector<size_t> starts_;   // of each part, among the fields
    size_t at_ = 0;                // the next part
    std::string bytes_;
};

}  // namespace

bool isChangeStream(Document pipeline) {
    const Element first = pipeline.isEmpty() ? Element() : *pipeline.begin();
    return first.isObject() && !first.document().isEmpty() &&
           first.document().begin()->name() == kChangeStream;
}

Status checkChangeStream(Document pipeline) {
    FRESHET_RETURN_IF_ERROR(checkStageNames(pipeline));
    const int count = pipeline.fieldCount();
    int at = 0;
    for (const Element& stage : pipeline) {
        const std::string_view name = stage.document().begin()->name();
        if (!isPermitted(name)) {
            return invalid(Reason::kIllegalOperation,
                           std::string(name) + " is not permitted in a $changeStream pipeline");
        }
        if (++at < count && name == kSplit) {
            return notTheLast();
        }
    }
    return Status::ok();
}

StageOr makeChangeStream(const PipelineMaker& maker) {
    if (maker.depth > 0) {
        return invalid(location(51047),
                       std::string(kChangeStream) + " is not allowed within an inner pipeline");
    }
    if (maker.run.tail() == nullptr) {
        return invalid(location(40573), "The $changeStream stage has no source of events here");
    }
    return StagePtr(std::make_unique<ChangeStreamStage>(maker.run));
}

StageOr makeSplitLargeEvent(const PipelineMaker& maker, const Element& spec, StagePtr input) {
    if (!spec.isObject() || !spec.document().isEmpty()) {
        return invalid(location(7182800), std::string(kSplit) + " spec should be an empty object");
    }
    if (maker.depth > 0 || maker.run.tail() == nullptr) {
        return invalid(Reason::kIllegalOperation,
                       std::string(kSplit) + " can only be used in a $changeStream pipeline");
    }
    return StagePtr(std::make_unique<SplitStage>(maker.run, std::move(input)));
}

StageOr endChangeStream(PipelineRun& run, Document stages, StagePtr last) {
    Element lastStage;
    for (const Element& stage : stages) {
        lastStage = stage;
    }
    if (lastStage.document().has(kSplit)) {
        return last;
    }
    if (run.tail()->skipParts > 0) {
        return fatal(
            "To resume from a split event, the $changeStream pipeline must include a "
            "$changeStreamSplitLargeEvent stage");
    }
    return StagePtr(std::make_unique<CheckedStage>(run, std::move(last)));
}

}  // namespace freshet::query
