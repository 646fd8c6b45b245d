// SPDX-License-Identifier: Apache-2.0
/// Updates as the oplog and change streams tell them: examples, and that what is told turns the
/// document before into the one after it.
#include "freshet/command/stream/document_diff.h"

#include "freshet/bson/json.h"
#include "freshet/command/stream/update_description.h"
#include "freshet/testing/sim/seed.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

namespace freshet::command {
namespace {

bson::OwnedDocument fromText(std::string_view json) {
    auto document = bson::fromJson(json);
    EXPECT_TRUE(document.isOk()) << json;
    return document.isOk() ? std::move(*document) : bson::OwnedDocument();
}

std::string withoutSpaces(bson::Document document) {
    std::string json = bson::toJson(document);
    std::erase(json, ' ');
    return json;
}

bson::OwnedDocument diffOf(bson::Document before, bson::Document after) {
    bson::Builder out;
    DocumentDiff(before, after).writeTo(&out);
    return bson::OwnedDocument(out.finish());
}

TEST(DocumentDiff, IsTheOplogs) {
    const struct {
        std::string_view before, after, diff;
    } kCases[] = {
        {R"({"_id":1,"a":1})", R"({"_id":1,"a":2})", R"({"u":{"a":2}})"},
        {R"({"_id":1,"a":1})", R"({"_id":1,"b":2})", R"({"d":{"a":false},"i":{"b":2}})"},
        {R"({"_id":1,"a":1})", R"({"_id":1,"a":1})", R"({})"},
        // The order counts: what comes behind a field that was not there before comes again.
        {R"({"a":1,"b":2})", R"({"b":2,"a":1})", R"({"i":{"a":1}})"},
        // A type is a change, an equal number is none.
        {R"({"a":1})", R"({"a":1.0})", R"({"u":{"a":1.0}})"},
        {R"({"a":{"b":{"c":1,"long":"text"},"d":"more"}})",
         R"({"a":{"b":{"c":2,"long":"text"},"d":"more"}})",
         R"({"sa":{"sb":{"u":{"c":2}}}})"},
        {R"({"a":{"x":1,"y":1,"z":"long enough to be left as it is"}})",
         R"({"a":{"x":2,"z":"long enough to be left as it is","new":3}})",
         R"({"sa":{"d":{"y":false},"u":{"x":2},"i":{"new":3}}})"},
        // More than one change, and the value itself is smaller.
        {R"({"a":{"x":1,"y":1}})", R"({"a":{"x":2,"y":2}})", R"({"sa":{"u":{"x":2,"y":2}}})"},
        {R"({"a":[1,2,3]})", R"({"a":[4,5,6]})", R"({"u":{"a":[4,5,6]}})"},
        {R"({"a":[1]})", R"({"a":[1,2]})", R"({"sa":{"a":true,"u1":2}})"},
        {R"({"a":[1,2,3]})", R"({"a":[1]})", R"({"sa":{"a":true,"l":1}})"},
        {R"({"a":[{"b":1},"a long text that stays where it is, as it is"]})",
         R"({"a":[{"b":2},"a long text that stays where it is, as it is"]})",
         R"({"sa":{"a":true,"s0":{"u":{"b":2}}}})"},
        {R"({"a":[1]})", R"({"a":{"0":1}})", R"({"u":{"a":{"0":1}}})"},
    };
    for (const auto& test : kCases) {
        const bson::OwnedDocument before = fromText(test.before);
        const bson::OwnedDocument after = fromText(test.after);
        const bson::OwnedDocument diff = diffOf(before.view(), after.view());
        EXPECT_EQ(withoutSpaces(diff.view()), test.diff) << test.before << test.after;
        const auto again = applyDiff(before.view(), diff.view());
        ASSERT_TRUE(again.isOk()) << again.status().toString();
        EXPECT_EQ(again->bytes(), after.bytes());
    }
}

TEST(DocumentDiff, IsAppliedToWhatLaterChangesHaveMade) {
    const struct {
        std::string_view before, diff, after;
    } kCases[] = {
        {R"({"a":1})", R"({"sa":{"u":{"b":1}}})", R"({"a":null})"},
        {R"({"a":{}})", R"({"sa":{"a":true,"u0":1}})", R"({"a":null})"},
        {R"({"a":{}})", R"({"sb":{"u":{"b":1}}})", R"({"a":{}})"},
        {R"({"a":1})", R"({"d":{"b":false},"u":{"c":1}})", R"({"a":1,"c":1})"},
        {R"({"a":1,"b":2})", R"({"i":{"a":3}})", R"({"b":2,"a":3})"},
        {R"({"a":[1]})", R"({"sa":{"a":true,"u3":4}})", R"({"a":[1,null,null,4]})"},
        {R"({"a":[1]})", R"({"sa":{"a":true,"l":3}})", R"({"a":[1,null,null]})"},
        {R"({"a":[]})", R"({"sa":{"a":true,"s0":{"u":{"b":1}}}})", R"({"a":[null]})"},
        {R"({"a":[5]})", R"({"sa":{"a":true,"s0":{"u":{"b":1}}}})", R"({"a":[null]})"},
    };
    for (const auto& test : kCases) {
        const auto after = applyDiff(fromText(test.before).view(), fromText(test.diff).view());
        ASSERT_TRUE(after.isOk()) << test.diff << after.status().toString();
        EXPECT_EQ(withoutSpaces(after->view()), test.after);
    }
}

TEST(DocumentDiff, WhatIsNoDiffIsRefused) {
    for (const char* diff : {R"({"u":1})",
                             R"({"x":{}})",
                             R"({"b":{"a":{"o":1,"d":1}}})",
                             R"({"sa":1})",
                             R"({"":{}})",
                             R"({"u":{"a":1},"d":{"a":false}})",
                             R"({"sa":{"a":true,"l":"x"}})",
                             R"({"sa":{"a":true,"l":-1}})",
                             R"({"sa":{"a":true,"u":1}})",
                             R"({"sa":{"a":true,"x0":1}})",
                             R"({"sa":{"a":true,"s0":1}})",
                             R"({"sa":{"a":true,"u0x":1}})",
                             R"({"sa":{"a":true,"u1":1,"u0":1}})",
                             R"({"sa":{"a":true,"l":1,"u2":1}})",
                             R"({"sa":{"a":true,"u4000000000":1}})",
                             R"({"sa":{"a":true,"u4294967296":1}})"}) {
        const auto after = applyDiff(fromText(R"({"a":[1,2]})").view(), fromText(diff).view());
        EXPECT_EQ(after.status().reason(), Reason::kFailedToParse) << diff;
    }
}

TEST(UpdateDescription, IsAChangeStreams) {
    const struct {
        std::string_view before, after, description;
    } kCases[] = {
        {R"({"_id":1,"a":1,"b":1})",
         R"({"_id":1,"a":2,"c":1})",
         R"({"updatedFields":{"a":2,"c":1},"removedFields":["b"],"truncatedArrays":[],)"
         R"("disambiguatedPaths":{}})"},
        {R"({"a":["foo",{"a":"bar"},1,2,3]})",
         R"({"a":["foo",{"a":"bar"}]})",
         R"({"updatedFields":{},"removedFields":[],)"
         R"("truncatedArrays":[{"field":"a","newSize":2}],"disambiguatedPaths":{}})"},
        {R"({"a":{"1":1}})",
         R"({"a":{"1":2}})",
         R"({"updatedFields":{"a.1":2},"removedFields":[],"truncatedArrays":[],)"
         R"("disambiguatedPaths":{"a.1":["a","1"]}})"},
        {R"({"a":[{"1":1}]})",
         R"({"a":[{"1":2}]})",
         R"({"updatedFields":{"a.0.1":2},"removedFields":[],"truncatedArrays":[],)"
         R"("disambiguatedPaths":{"a.0.1":["a",0,"1"]}})"},
        // Not a number in front, not as array's index, and not with a zero before it.
        {R"({"0":{"x":1},"b":[1,"a long text"],"c":{"01":1}})",
         R"({"0":{"x":2},"b":[2,"a long text"],"c":{"01":2}})",
         R"({"updatedFields":{"0.x":2,"b.0":2,"c.01":2},"removedFields":[],)"
         R"("truncatedArrays":[],"disambiguatedPaths":{}})"},
        {R"({"a.b":{"c":1},"d":{"x.y":1}})",
         R"({"a.b":{"c":2},"d":{}})",
         R"({"updatedFields":{"a.b.c":2},"removedFields":["d.x.y"],"truncatedArrays":[],)"
         R"("disambiguatedPaths":{"a.b.c":["a.b","c"],"d.x.y":["d","x.y"]}})"},
    };
    for (const auto& test : kCases) {
        const bson::OwnedDocument before = fromText(test.before);
        const bson::OwnedDocument after = fromText(test.after);
        EXPECT_EQ(withoutSpaces(describeUpdate(before.view(), after.view(), true).view()),
                  test.description);
        EXPECT_FALSE(
            describeUpdate(before.view(), after.view(), false).view().has("disambiguatedPaths"));
    }
}

/// A document that can be changed by paths. The fields of an object are in the order of names.
struct Tree {
    bson::Type type = bson::Type::kNull;
    std::string value;                   // of a scalar
    std::map<std::string, Tree> fields;  // of an object
    std::vector<Tree> elements;          // of an array

    static Tree of(const bson::Element& element) {
        Tree tree;
        tree.type = element.type();
        if (element.isObject()) {
            tree.fields = of(element.document()).fields;
        } else if (element.isArray()) {
            for (const bson::Element& inner : element.document()) {
                tree.elements.push_back(of(inner));
            }
        } else {
            tree.value = std::string(element.value());
        }
        return tree;
    }
    static Tree of(bson::Document document) {
        Tree tree;
        tree.type = bson::Type::kObject;
        for (const bson::Element& inner : document) {
            tree.fields[std::string(inner.name())] = of(inner);
        }
        return tree;
    }
    bool operator==(const Tree& other) const {
        return type == other.type && value == other.value && fields == other.fields &&
               elements == other.elements;
    }
};

/// The place that a path names; a field that is not there yet is made.
Tree* placeOf(Tree* tree, bson::Document paths, const std::string& path) {
    const auto inside = [](Tree* outer, const std::string& name) {
        if (outer->type != bson::Type::kArray) {
            return &outer->fields[name];
        }
        const size_t index = std::stoul(name);
        outer->elements.resize(std::max(outer->elements.size(), index + 1));
        return &outer->elements[index];
    };
    if (const bson::Element parts = paths.find(path)) {
        for (const bson::Element& part : parts.document()) {
            EXPECT_EQ(part.type() == bson::Type::kInt32, tree->type == bson::Type::kArray) << path;
            tree = inside(tree,
                          part.isString() ? std::string(part.stringValue())
                                          : std::to_string(part.int32Value()));
        }
        return tree;
    }
    size_t start = 0;
    for (size_t end = 0; end != std::string::npos; start = end + 1) {
        end = path.find('.', start);
        tree = inside(tree, path.substr(start, end - start));
    }
    return tree;
}

void applyDescription(Tree* tree, bson::Document description) {
    const bson::Document paths = description.find("disambiguatedPaths").document();
    for (const bson::Element& cut : description.find("truncatedArrays").document()) {
        Tree* array = placeOf(tree, paths, std::string(cut.document().find("field").stringValue()));
        ASSERT_EQ(array->type, bson::Type::kArray);
        const auto newSize = static_cast<size_t>(cut.document().find("newSize").int32Value());
        ASSERT_LT(newSize, array->elements.size());
        array->elements.resize(newSize);
    }
    for (const bson::Element& gone : description.find("removedFields").document()) {
        Tree* field = placeOf(tree, paths, std::string(gone.stringValue()));
        field->type = bson::Type::kUndefined;  // dropUndefined() takes it out
    }
    for (const bson::Element& updated : description.find("updatedFields").document()) {
        *placeOf(tree, paths, std::string(updated.name())) = Tree::of(updated);
    }
}

/// {a: {"b.c": 1}, "a.b": {c: 1}}: the format cannot tell them apart.
bool hasOnePathTwice(bson::Document description) {
    std::set<std::string> paths;
    size_t count = 0;
    for (const bson::Element& updated : description.find("updatedFields").document()) {
        paths.emplace(updated.name());
        ++count;
    }
    for (const bson::Element& gone : description.find("removedFields").document()) {
        paths.emplace(gone.stringValue());
        ++count;
    }
    for (const bson::Element& cut : description.find("truncatedArrays").document()) {
        paths.emplace(cut.document().find("field").stringValue());
        ++count;
    }
    return paths.size() < count;
}

void dropUndefined(Tree* tree) {
    std::erase_if(tree->fields,
                  [](const auto& field) { return field.second.type == bson::Type::kUndefined; });
    for (auto& field : tree->fields) {
        dropUndefined(&field.second);
    }
    for (Tree& element : tree->elements) {
        dropUndefined(&element);
    }
}

class RandomDocuments {
public:
    explicit RandomDocuments(uint64_t seed) : random_(seed) {}

    std::string make() {
        bson::Builder out;
        out.add("_id", int32_t{1});
        addFields(&out, 0);
        return out.finish();
    }
    /// The document with some changes, at any depth.
    std::string change(bson::Document document) {
        bson::Builder out;
        changeFields(document, 0, &out);
        return out.finish();
    }

private:
    uint64_t below(uint64_t end) { return random_() % end; }
    void addScalar(std::string_view name, bson::Builder* out) {
        switch (below(4)) {
            case 0:
                out->add(name, static_cast<int32_t>(below(3)));
                break;
            case 1:
                out->add(name, static_cast<double>(below(3)));
                break;
            case 2:
                out->add(name, std::string(below(40), 'x'));
                break;
            default:
                out->add(name, below(2) == 0);
        }
    }
    void addValue(std::string_view name, int depth, bson::Builder* out) {
        const uint64_t kind = depth < 4 ? below(4) : 0;
        if (kind == 1) {
            bson::Builder inner = out->object(name);
            addFields(&inner, depth + 1);
        } else if (kind == 2) {
            bson::Builder inner = out->array(name);
            for (uint64_t count = below(5); count > 0; --count) {
                addValue(inner.nextIndex(), depth + 1, &inner);
            }
        } else {
            addScalar(name, out);
        }
    }
    void addFields(bson::Builder* out, int depth) {
        static const char* const kNames[] = {"a", "b", "a.b", "b.0", "0", "1", "00", "", "d", "$x"};
        for (const char* name : kNames) {
            if (below(3) == 0) {
                addValue(name, depth, out);
            }
        }
    }
    void changeValue(const bson::Element& element,
                     std::string_view name,
                     int depth,
                     bson::Builder* out) {
        if (element.isObject() && below(8) != 0) {
            bson::Builder inner = out->object(name);
            changeFields(element.document(), depth + 1, &inner);
        } else if (element.isArray() && below(8) != 0) {
            bson::Builder inner = out->array(name);
            changeElements(element.document(), depth + 1, &inner);
        } else {
            addValue(name, depth, out);
        }
    }
    void changeFields(bson::Document document, int depth, bson::Builder* out) {
        std::vector<bson::Element> moved;
        for (const bson::Element& element : document) {
            const uint64_t what = element.name() == "_id" ? 99 : below(12);
            if (what < 3) {
                changeValue(element, element.name(), depth, out);
            } else if (what == 3) {
                moved.push_back(element);
            } else if (what != 4) {
                out->add(element);
            }
        }
        for (const bson::Element& element : moved) {
            out->add(element);
        }
        if (below(3) == 0) {
            addValue("new" + std::to_string(below(5)), depth, out);
        }
    }
    void changeElements(bson::Document array, int depth, bson::Builder* out) {
        const uint64_t most = below(3) == 0 ? below(4) : 99;
        uint64_t count = 0;
        for (const bson::Element& element : array) {
            if (count++ == most) {
                return;
            }
            if (below(4) == 0) {
                changeValue(element, out->nextIndex(), depth, out);
            } else {
                out->pushElement(element);
            }
        }
        for (uint64_t more = below(4) == 0 ? below(3) : 0; more > 0; --more) {
            addValue(out->nextIndex(), depth, out);
        }
    }

    std::mt19937_64 random_;
};

TEST(DocumentDiff, TurnsOneDocumentIntoTheOther) {
    const uint64_t seed = testing::testSeed();
    SCOPED_TRACE("FRESHET_SEED=" + std::to_string(seed));
    RandomDocuments documents(seed);
    for (int i = 0; i < 5000; ++i) {
        const std::string before = documents.make();
        const std::string after =
            i % 10 == 0 ? documents.make() : documents.change(bson::Document(before.data()));
        const bson::Document old(before.data());
        const bson::Document now(after.data());
        const bson::OwnedDocument diff = diffOf(old, now);
        const auto again = applyDiff(old, diff.view());
        ASSERT_TRUE(again.isOk()) << again.status().toString();
        ASSERT_EQ(again->bytes(), after)
            << bson::toJson(old) << bson::toJson(now) << bson::toJson(diff.view());
        const bson::OwnedDocument description = describeUpdate(old, now, true);
        if (hasOnePathTwice(description.view())) {
            continue;
        }
        Tree tree = Tree::of(old);
        applyDescription(&tree, description.view());
        dropUndefined(&tree);
        ASSERT_TRUE(tree == Tree::of(now))
            << bson::toJson(old) << bson::toJson(now) << bson::toJson(description.view());
    }
}

TEST(DocumentDiff, GoesAsDeepAsDocumentsDo) {
    const auto nested = [](int32_t value) {
        bson::OwnedDocument inner;
        for (int depth = 3; depth <= bson::kNestingMax; depth += 2) {
            bson::Builder array;
            bson::Builder outer;
            array.add("0", value).add("1", inner.view());
            outer.addArray("a", bson::OwnedDocument(array.finish()).view());
            inner = bson::OwnedDocument(outer.finish());
        }
        return inner;
    };
    const bson::OwnedDocument before = nested(1);
    const bson::OwnedDocument after = nested(2);
    ASSERT_TRUE(bson::Document::parse(after.bytes()).isOk());
    ASSERT_FALSE(bson::nestsWithin(after.view(), bson::kNestingMax - 2));
    const auto again = applyDiff(before.view(), diffOf(before.view(), after.view()).view());
    ASSERT_TRUE(again.isOk());
    EXPECT_EQ(again->bytes(), after.bytes());
}

/// Each path begins with the same long name: the paths alone would be more than an event can hold.
TEST(UpdateDescription, OfLongNamesStaysSmall) {
    const auto make = [](int32_t value) {
        bson::Builder out;
        bson::Builder inner = out.object(std::string(100'000, 'n'));
        for (int i = 0; i < 1000; ++i) {
            inner.add("f" + std::to_string(i), i % 2 == 0 ? value : 0);
            inner.add("g" + std::to_string(i), "a text that stays");
        }
        inner.close();
        return out.finish();
    };
    const std::string before = make(1);
    const std::string after = make(2);
    const bson::OwnedDocument description =
        describeUpdate(bson::Document(before.data()), bson::Document(after.data()), true);
    EXPECT_LT(description.bytes().size(), 2 * after.size());
    Tree tree = Tree::of(bson::Document(before.data()));
    applyDescription(&tree, description.view());
    EXPECT_TRUE(tree == Tree::of(bson::Document(after.data())));
}

}  // namespace
}  // namespace freshet::command
