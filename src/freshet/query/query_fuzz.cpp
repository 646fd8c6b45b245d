// SPDX-License-Identifier: Apache-2.0
/// libFuzzer target: two documents. The first is parsed as a filter, update, projection, sort,
/// index filter and schema; what parses is applied to the second.
///
///   clang++-16 -std=c++20 -fsanitize=fuzzer,address -Isrc ... query_fuzz.cpp and the rooms'
///   sources
#include "freshet/query/match/explain_failure.h"
#include "freshet/query/plan/implication.h"
#include "freshet/query/plan/planner.h"
#include "freshet/query/predicate.h"
#include "freshet/query/transform.h"
#include "freshet/query/update.h"

#include <tuple>

namespace freshet::query {

namespace {

using bson::Document;

void fuzzFilter(Document filter, Document document) {
    auto matcher = Matcher::compile(filter);
    if (!matcher.isOk()) {
        return;
    }
    if (!(*matcher)->matches(document)) {
        std::ignore = whyNot(**matcher, document);
    }
    std::ignore = (*matcher)->matchedIndex(document, "a");
    std::ignore = implies((*matcher)->root(), (*matcher)->root());
    for (const Predicate& predicate : collectPredicates((*matcher)->root())) {
        std::ignore = boundsOf(*predicate.leaf);
    }
}

void fuzzUpdate(Document update, Document document) {
    auto program = UpdateProgram::compile(bson::OwnedDocument(update), Document());
    if (!program.isOk()) {
        return;
    }
    bool changed = false;
    auto after = (*program)->apply(document, nullptr, &changed);
    if (after.isOk()) {
        invariant(Document::parse(after->view().bytes()).isOk());
    }
    auto all = Matcher::compile(Document());
    auto made = (*program)->makeUpsert(**all);
    if (made.isOk()) {
        invariant(Document::parse(made->view().bytes()).isOk());
    }
}

void fuzzOthers(Document spec, Document document) {
    if (auto projection = Projection::compile(spec); projection.isOk()) {
        auto shown = (*projection)->apply(document, nullptr);
        invariant(!shown.isOk() || Document::parse(shown->view().bytes()).isOk());
    }
    if (auto sort = SortPattern::compile(spec); sort.isOk()) {
        std::ignore = sort->keyOf(document);
    }
    auto index = compilePredicate(spec, catalog::PredicateUse::kPartialIndex);
    if (index.isOk()) {
        bool isIndexed = false;
        std::ignore = (*index)->test(document, &isIndexed);
    }
    bson::Builder schema;
    schema.add("$jsonSchema", spec);
    const bson::OwnedDocument wrapped(schema.finish());
    fuzzFilter(wrapped.view(), document);
}

}  // namespace

void fuzzOne(ByteView bytes) {
    auto first = Document::parsePrefix(bytes);
    if (!first.isOk()) {
        return;
    }
    auto second = Document::parse(bytes.substr(first->size()));
    const Document document = second.isOk() ? *second : *first;
    fuzzFilter(*first, document);
    fuzzUpdate(*first, document);
    fuzzOthers(*first, document);
}

}  // namespace freshet::query

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    freshet::query::fuzzOne({reinterpret_cast<const char*>(data), size});
    return 0;
}
