// SPDX-License-Identifier: Apache-2.0
/// Checks of index specifications.
#include "freshet/catalog/index/index_spec.h"

#include "freshet/bson/compare.h"
#include "freshet/bson/json.h"

#include <cmath>

namespace freshet::catalog {

namespace {

constexpr size_t kIndexFieldsMax = 32;  // of one key pattern, as MongoDB

Status cannotCreate(std::string text) {
    return invalid(Reason::kCannotCreateIndex, std::move(text));
}

Status checkField(const bson::Element& field) {
    std::string_view path = field.name();
    if (path.empty() || path.front() == '.' || path.back() == '.' ||
        path.find("..") != std::string_view::npos) {
        return cannotCreate("Index keys cannot contain an empty field.");
    }
    if (path.front() == '$' || path.find(".$") != std::string_view::npos) {
        return cannotCreate(
            "Index key contains an illegal field name: field name starts with '$'.");
    }
    if (field.isString()) {
        return cannotCreate("Unknown index plugin '" + std::string(field.stringValue()) + "'");
    }
    if (!field.isNumber()) {
        return cannotCreate("Values in v:2 index key pattern cannot be of type " +
                            std::string(bson::typeName(field.type())) +
                            ". Only numbers > 0, numbers < 0, and strings are allowed.");
    }
    double direction = field.toDouble();
    if (direction == 0 || std::isnan(direction)) {
        return cannotCreate("Values in the index key pattern cannot be 0.");
    }
    return Status::ok();
}

Status checkKey(bson::Document key) {
    if (key.isEmpty()) {
        return cannotCreate("Index keys cannot be an empty.");
    }
    if (key.fieldCount() > static_cast<int>(kIndexFieldsMax)) {
        return cannotCreate("Number of fields in the index exceeds the limit of " +
                            std::to_string(kIndexFieldsMax));
    }
    for (const bson::Element& field : key) {
        FRESHET_RETURN_IF_ERROR(checkField(field));
        for (const bson::Element& other : key) {
            if (other.whole().data() < field.whole().data() && other.name() == field.name()) {
                return cannotCreate("Duplicate field in the index key pattern: " +
                                    std::string(field.name()));
            }
        }
    }
    return Status::ok();
}

bson::OwnedDocument specOf(const IndexRequest& request) {
    bson::Builder builder;
    builder.add("v", int32_t{2});
    builder.add("key", request.key.view());
    builder.add("name", request.name.empty() ? indexNameOf(request.key.view()) : request.name);
    if (request.unique) {
        builder.add("unique", true);
    }
    if (request.sparse) {
        builder.add("sparse", true);
    }
    for (const bson::Element& field : request.spec.view()) {
        std::string_view name = field.name();
        bool ours = name == "v" || name == "key" || name == "name" || name == "ns" ||
                    name == "unique" || name == "sparse" || name == "background";
        if (!ours) {
            builder.add(field);
        }
    }
    return bson::OwnedDocument(builder.finish());
}

/// Same fields in the same order, each in the same direction.
bool sameKey(bson::Document a, bson::Document b) {
    auto left = a.begin();
    auto right = b.begin();
    for (; left != a.end() && right != b.end(); ++left, ++right) {
        if (left->name() != right->name() || (left->toDouble() < 0) != (right->toDouble() < 0)) {
            return false;
        }
    }
    return left == a.end() && right == b.end();
}

bool sameOptions(bson::Document a, bson::Document b) {
    auto covers = [](bson::Document x, bson::Document y) {
        for (const bson::Element& field : x) {
            if (field.name() != "key" && field.name() != "name" && field.name() != "v" &&
                !bson::equalValues(field, y.find(field.name()))) {
                return false;
            }
        }
        return true;
    };
    return covers(a, b) && covers(b, a);
}

bool isIdKey(bson::Document key) {
    return key.fieldCount() == 1 && key.begin()->name() == "_id" && key.begin()->toDouble() > 0;
}

/// True when `existing` is what is wanted already; else ok(false) or the clash.
StatusOr<bool> alreadyThere(bson::Document existing, bson::Document wanted) {
    std::string_view oldName = existing.find("name").stringValue();
    std::string_view newName = wanted.find("name").stringValue();
    bool keys = sameKey(existing.find("key").document(), wanted.find("key").document());
    bool options = sameOptions(existing, wanted);
    if (oldName == newName) {
        if (keys && options) {
            return true;
        }
        return invalid(
            Reason::kIndexKeySpecsConflict,
            "An existing index has the same name as the requested index. When index names are not "
            "specified, they are auto generated and can cause conflicts. Please refer to our "
            "documentation. Requested index: " +
                bson::toShellText(wanted) + ", existing index: " + bson::toShellText(existing));
    }
    if (keys) {
        return invalid(Reason::kIndexOptionsConflict,
                       "Index already exists with a different name: " + std::string(oldName));
    }
    return false;
}

}  // namespace

std::string indexNameOf(bson::Document key) {
    std::string name;
    for (const bson::Element& field : key) {
        name += name.empty() ? "" : "_";
        name += std::string(field.name()) + "_";
        name += field.isNumber() ? std::to_string(field.toInt64()) : bson::toShellText(field);
    }
    return name;
}

StatusOr<std::vector<bson::OwnedDocument>> resolveIndexRequests(
    const std::vector<bson::OwnedDocument>& existing, const std::vector<IndexRequest>& requests) {
    std::vector<bson::OwnedDocument> all = existing;
    for (const IndexRequest& request : requests) {
        FRESHET_RETURN_IF_ERROR(checkKey(request.key.view()));
        if (isIdKey(request.key.view())) {
            continue;  // every collection has it, whatever name the client gives
        }
        bson::OwnedDocument spec = specOf(request);
        bool found = false;
        for (const bson::OwnedDocument& other : all) {
            FRESHET_ASSIGN_OR_RETURN(bool same, alreadyThere(other.view(), spec.view()));
            found |= same;
        }
        if (!found) {
            all.push_back(std::move(spec));
        }
    }
    if (all.size() > kIndexesMax) {
        return cannotCreate("add index fails, too many indexes, the limit is " +
                            std::to_string(kIndexesMax));
    }
    return std::vector<bson::OwnedDocument>(all.begin() + static_cast<long>(existing.size()),
                                            all.end());
}

}  // namespace freshet::catalog
