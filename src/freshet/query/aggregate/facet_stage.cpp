// SPDX-License-Identifier: Apache-2.0
/// $facet: several pipelines over one input. The input is read in portions; each pipeline runs as
/// far as a portion allows.
#include "freshet/bson/json.h"
#include "freshet/query/aggregate/stages.h"

#include <deque>

namespace freshet::query {
namespace {

using bson::Document;
using bson::Element;

constexpr size_t kPortionDocuments = 128;
constexpr size_t kPortionBytes = 1u << 20;

/// The documents that all pipelines of a $facet read.
struct Portion {
    std::vector<std::string> documents;
    bool isLast = false;
};

/// A pipeline's source: the portions, one after another.
class PortionStage final : public Stage {
public:
    PortionStage(const Portion& portion, bool* isStarved)
        : portion_(portion), isStarved_(isStarved) {}
    /// WouldBlock with *isStarved when the portion is used up.
    Status next(Output* out) override {
        if (next_ < portion_.documents.size()) {
            return out->give(Document(portion_.documents[next_++]));
        }
        if (portion_.isLast) {
            return out->end();
        }
        next_ = 0;  // of the next portion
        *isStarved_ = true;
        return Status::wouldBlock();
    }

private:
    const Portion& portion_;
    bool* isStarved_;
    size_t next_ = 0;
};

struct Facet {
    std::string name;
    StagePtr last;
    std::unique_ptr<bool> isStarved = std::make_unique<bool>(false);
    bool isAtEnd = false;
    bson::Builder found;
};

class FacetStage final : public ChainedStage {
public:
    FacetStage(PipelineRun& run,
               StagePtr input,
               std::unique_ptr<Portion> portion,
               std::vector<std::unique_ptr<Facet>> facets)
        : ChainedStage(run, std::move(input)),
          portion_(std::move(portion)),
          facets_(std::move(facets)) {}

    Status next(Output* out) override {
        while (!given_) {
            if (!portionIsRead_) {
                FRESHET_RETURN_IF_ERROR(readPortion());
                portionIsRead_ = true;
                at_ = 0;
            }
            for (; at_ < facets_.size(); ++at_) {
                FRESHET_RETURN_IF_ERROR(runFacet(*facets_[at_]));
            }
            if (portion_->isLast) {
                given_ = true;
                return give(out);
            }
            portion_->documents.clear();
            portionBytes_ = 0;
            portionIsRead_ = false;
        }
        return out->end();
    }

private:
    uint64_t ownBytes() const override { return portionBytes_ + bytesFound_ + bytes_.capacity(); }

    Status readPortion() {
        while (portion_->documents.size() < kPortionDocuments && portionBytes_ < kPortionBytes) {
            Output in;
            FRESHET_RETURN_IF_ERROR(input().next(&in));
            if (in.isEnd) {
                portion_->isLast = true;
                break;
            }
            portion_->documents.emplace_back(in.document.bytes());
            portionBytes_ += in.document.size();
        }
        return Status::ok();
    }

    Status runFacet(Facet& facet) {
        while (!facet.isAtEnd) {
            Output found;
            *facet.isStarved = false;
            Status status = facet.last->next(&found);
            if (status.isWouldBlock() && *facet.isStarved) {
                return Status::ok();
            }
            FRESHET_RETURN_IF_ERROR(std::move(status));
            facet.isAtEnd = found.isEnd;
            if (found.isEnd) {
                break;
            }
            facet.found.push(found.document);
            bytesFound_ += found.document.size();
            if (bytesFound_ > kStageBytesMax) {
                return Status(Code::kLimit,
                              location(4031700),
                              "document constructed by $facet is " + std::to_string(bytesFound_) +
                                  " bytes, which exceeds the limit of " +
                                  std::to_string(kStageBytesMax) + " bytes");
            }
            FRESHET_RETURN_IF_ERROR(checkTurn());
        }
        return Status::ok();
    }

    Status give(Output* out) {
        bson::Builder builder;
        for (const auto& facet : facets_) {
            const std::string array = facet->found.finish();
            if (!bson::nestsWithin(Document(array), kComputedNestingMax - 1)) {
                return nestsTooDeeply();
            }
            builder.addArray(facet->name, Document(array));
        }
        bytes_ = builder.finish();
        if (bytes_.size() > bson::kInternalDocumentBytesMax) {
            return invalid(Reason::kBsonObjectTooLarge,
                           "BSONObj size: " + std::to_string(bytes_.size()) +
                               " is invalid. Size must be between 0 and 16793600(16MB)");
        }
        return out->give(Document(bytes_));
    }

    std::unique_ptr<Portion> portion_;
    std::vector<std::unique_ptr<Facet>> facets_;
    bool portionIsRead_ = false;
    size_t portionBytes_ = 0;
    size_t at_ = 0;
    size_t bytesFound_ = 0;
    bool given_ = false;
    std::string bytes_;
};

Status checkFacet(const Element& facet) {
    const std::string name(facet.name());
    FRESHET_RETURN_IF_ERROR(checkFieldName(name));
    if (name.find('.') != name.npos) {
        return invalid(location(16412), "FieldPath field names may not contain '.'.");
    }
    if (!facet.isArray()) {
        return invalid(location(40170),
                       "arguments to $facet must be arrays, " + name + " is type " +
                           std::string(bson::typeName(facet.type())));
    }
    for (const Element& stage : facet.document()) {
        const std::string_view stageName =
            stage.isObject() && !stage.document().isEmpty() ? stage.document().begin()->name() : "";
        for (const std::string_view refused : {"$facet",
                                               "$out",
                                               "$merge",
                                               "$collStats",
                                               "$indexStats",
                                               "$documents",
                                               "$planCacheStats",
                                               "$geoNear",
                                               "$changeStream"}) {
            if (stageName == refused) {
                return invalid(
                    location(40600),
                    std::string(refused) + " is not allowed to be used within a $facet stage");
            }
        }
    }
    return Status::ok();
}

}  // namespace

StageOr makeFacet(const PipelineMaker& maker, const Element& spec, StagePtr input) {
    if (!spec.isObject() || spec.document().isEmpty()) {
        return invalid(location(40169),
                       "the $facet specification must be a non-empty object, but found: " +
                           bson::toShellText(spec));
    }
    FRESHET_ASSIGN_OR_RETURN(const PipelineMaker inner, maker.inner(maker.variables));
    auto portion = std::make_unique<Portion>();
    std::vector<std::unique_ptr<Facet>> facets;
    for (const Element& field : spec.document()) {
        FRESHET_RETURN_IF_ERROR(checkFacet(field));
        auto facet = std::make_unique<Facet>();
        facet->name = std::string(field.name());
        FRESHET_ASSIGN_OR_RETURN(
            facet->last,
            inner.makeBehind(field.document(),
                             std::make_unique<PortionStage>(*portion, facet->isStarved.get())));
        facets.push_back(std::move(facet));
    }
    return StagePtr(std::make_unique<FacetStage>(
        maker.run, std::move(input), std::move(portion), std::move(facets)));
}

}  // namespace freshet::query
