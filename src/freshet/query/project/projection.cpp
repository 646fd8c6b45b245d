// SPDX-License-Identifier: Apache-2.0
/// The public entry points of find's projection and of sort patterns.
#include "freshet/platform/clock.h"
#include "freshet/query/project/tree.h"
#include "freshet/query/transform.h"

namespace freshet::query {

using bson::Document;
using bson::OwnedDocument;

struct Projection::Impl {
    OwnedDocument spec;
    ProjectTree tree;
};

Projection::Projection(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Projection::~Projection() = default;

StatusOr<std::unique_ptr<Projection>> Projection::compile(Document spec, Document variables) {
    auto impl = std::make_unique<Impl>();
    impl->spec = OwnedDocument(spec);
    FRESHET_ASSIGN_OR_RETURN(impl->tree,
                             parseProjection(impl->spec.view(), ProjectStyle::kFind, variables));
    return std::unique_ptr<Projection>(new Projection(std::move(impl)));
}

StatusOr<OwnedDocument> Projection::apply(Document document, const Matcher* matcher) const {
    ExprContext context;
    if (impl_->tree.root.computes) {
        context.nowMillis = platform::wallMillis();
    }
    bson::Builder builder;
    projectDocument(impl_->tree, document, matcher, &context, &builder);
    std::string bytes = builder.finish();
    if (context.failed()) {
        return std::move(context.error);
    }
    return OwnedDocument(std::move(bytes));
}

}  // namespace freshet::query
