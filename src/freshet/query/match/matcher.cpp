// SPDX-License-Identifier: Apache-2.0
/// A Matcher owns its filter and the tree made from it.
#include "freshet/query/limits.h"
#include "freshet/query/match/tree.h"

#include <optional>

namespace freshet::query {

struct Matcher::Impl {
    bson::OwnedDocument filter;
    NodePtr root;
    bool onValues = false;  // made for single values, not for documents
    bool asksMuch = false;  // enough fields to index a large document

    /// Evaluates the tree; positions of fields are remembered only as long as `run` lasts.
    bool matches(bson::Document document, MatchRun* run) const {
        std::optional<FieldFinder> fields;
        if (asksMuch) {
            run->fields = &fields.emplace();
        }
        return matchDocument(*root, document, run);
    }
};

namespace {

constexpr size_t kManyNodes = 64;

/// Counts a tree's nodes, at most up to kManyNodes.
void countNodes(const MatchNode& node, size_t* count) {
    ++*count;
    for (size_t at = 0; *count < kManyNodes && at < node.children.size(); ++at) {
        countNodes(*node.children[at], count);
    }
}

bool hasManyNodes(const MatchNode& node) {
    size_t count = 0;
    countNodes(node, &count);
    return count >= kManyNodes;
}

}  // namespace

Matcher::Matcher(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Matcher::~Matcher() = default;

StatusOr<std::unique_ptr<Matcher>> Matcher::compile(bson::Document filter,
                                                    bson::Document variables) {
    FRESHET_ASSIGN_OR_RETURN(auto matcher, compileAsWritten(filter, variables));
    mergeEqualities(&matcher->impl_->root);
    return matcher;
}

StatusOr<std::unique_ptr<Matcher>> Matcher::compileAsWritten(bson::Document filter,
                                                             bson::Document variables) {
    auto impl = std::make_unique<Impl>();
    impl->filter = bson::OwnedDocument(filter);
    FRESHET_ASSIGN_OR_RETURN(impl->root, parseFilter(impl->filter.view(), variables));
    impl->asksMuch = hasManyNodes(*impl->root);
    return std::unique_ptr<Matcher>(new Matcher(std::move(impl)));
}

bool Matcher::matches(bson::Document document) const {
    MatchRun run{.root = document};
    return impl_->matches(document, &run) && run.error.isOk();
}

Status Matcher::test(bson::Document document, bool* matched) const {
    MatchRun run{.root = document};
    *matched = impl_->matches(document, &run);
    return run.error.isOk() ? mayGoOn() : std::move(run.error);
}

const MatchNode& Matcher::root() const {
    return *impl_->root;
}

bson::Document Matcher::filter() const {
    return impl_->filter.view();
}

int Matcher::matchedIndex(bson::Document document, std::string_view arrayPath) const {
    MatchRun run{.root = document, .recording = true, .arrayPath = arrayPath};
    if (!impl_->matches(document, &run)) {
        return -1;
    }
    return run.indexOnPath >= 0 ? run.indexOnPath : run.indexAnywhere;
}

bool isConditionOnValues(bson::Document condition) {
    return isOperatorObject(condition) && !isDocumentOperator(condition.begin()->name());
}

StatusOr<std::unique_ptr<Matcher>> compileValueMatcher(bson::Document condition) {
    auto impl = std::make_unique<Matcher::Impl>();
    impl->filter = bson::OwnedDocument(condition);
    const bson::Document own = impl->filter.view();
    impl->onValues = isConditionOnValues(own);
    FRESHET_ASSIGN_OR_RETURN(impl->root,
                             impl->onValues ? parseValueCondition(own) : parseFilter(own));
    FRESHET_RETURN_IF_ERROR(refuseExpr(*impl->root));
    return std::unique_ptr<Matcher>(new Matcher(std::move(impl)));
}

bool matchesValue(const Matcher& matcher, const bson::Element& value) {
    if (!matcher.impl_->onValues) {
        return value.isObject() && matcher.matches(value.document());
    }
    MatchRun run;
    return matchSingle(*matcher.impl_->root, value, &run);
}

}  // namespace freshet::query
