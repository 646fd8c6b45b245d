// SPDX-License-Identifier: Apache-2.0
/// Checks of index specifications.
#include "freshet/catalog/index/index_spec.h"

#include "freshet/bson/compare.h"
#include "freshet/bson/json.h"
#include "freshet/bson/path.h"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace freshet::catalog {

namespace {

constexpr size_t kIndexFieldsMax = 32;            // per key pattern, as in MongoDB
constexpr int64_t kExpireSecondsMax = INT32_MAX;  // of a TTL index

Status cannotCreate(std::string text) {
    return invalid(Reason::kCannotCreateIndex, std::move(text));
}

void addInteger(bson::Builder* builder, std::string_view name, int64_t value) {
    if (value >= INT32_MIN && value <= INT32_MAX) {
        builder->add(name, static_cast<int32_t>(value));
    } else {
        builder->add(name, value);
    }
}

/// Index types of the protocol that are not supported.
bool isKnownPlugin(std::string_view name) {
    return name == "hashed" || name == "text" || name == "2d" || name == "2dsphere" ||
           name == "2dsphere_bucket" || name == "geoHaystack" || name == "wildcard";
}

Status checkDirection(const bson::Element& field) {
    if (field.isString()) {
        const std::string plugin(field.stringValue());
        return cannotCreate(isKnownPlugin(plugin) ? "Indexes of type '" + plugin +
                                                        "' are not supported by this server"
                                                  : "Unknown index plugin '" + plugin + "'");
    }
    if (!field.isNumber()) {
        return cannotCreate("Values in v:2 index key pattern cannot be of type " +
                            std::string(bson::typeName(field.type())) +
                            ". Only numbers > 0, numbers < 0, and strings are allowed.");
    }
    const double direction = field.toDouble();
    if (std::isnan(direction)) {
        return cannotCreate("Values in the index key pattern cannot be NaN.");
    }
    return direction == 0 ? cannotCreate("Values in the index key pattern cannot be 0.")
                          : Status::ok();
}

Status startsWithDollar() {
    return cannotCreate("Index key contains an illegal field name: field name starts with '$'.");
}

Status checkField(const bson::Element& field) {
    const std::string_view path = field.name();
    FRESHET_RETURN_IF_ERROR(checkDirection(field));
    FRESHET_RETURN_IF_ERROR(bson::checkPathLength(path));
    if (path.empty() || path.front() == '.' || path.back() == '.' ||
        path.find("..") != std::string_view::npos) {
        return cannotCreate("Index keys cannot contain an empty field.");
    }
    if (path == "$**" || path.ends_with(".$**")) {
        return cannotCreate("Wildcard indexes are not supported by this server");
    }
    if (path.front() == '$') {
        return startsWithDollar();
    }
    for (size_t dot = path.find('.'); dot != path.npos; dot = path.find('.', dot + 1)) {
        const std::string_view part = path.substr(dot + 1, path.find('.', dot + 1) - dot - 1);
        if (part.front() == '$' && !bson::isDbRefPart(part)) {
            return startsWithDollar();
        }
    }
    return Status::ok();
}

Status checkKey(bson::Document key) {
    if (key.isEmpty()) {
        return cannotCreate("Index keys cannot be empty.");
    }
    if (key.fieldCount() > static_cast<int>(kIndexFieldsMax)) {
        return cannotCreate("Number of fields in the index exceeds the limit of " +
                            std::to_string(kIndexFieldsMax));
    }
    for (const bson::Element& field : key) {
        FRESHET_RETURN_IF_ERROR(checkField(field));
        for (const bson::Element& other : key) {
            if (other.whole().data() < field.whole().data() && other.name() == field.name()) {
                return cannotCreate("The field '" + std::string(field.name()) +
                                    "' appears in the index key pattern multiple times");
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
        const std::string_view name = field.name();
        const bool isOurs = name == "v" || name == "key" || name == "name" || name == "ns" ||
                            name == "unique" || name == "sparse";
        const bool isNotHidden = name == "hidden" && !field.isTruthy();
        if (name == "expireAfterSeconds" && field.isNumber()) {
            addInteger(&builder, name, field.toInt64());
        } else if (!isOurs && !isNotHidden) {
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

/// Options that make two indexes with the same key pattern different indexes, rather than one index
/// with conflicting options.
bool isInSignature(std::string_view option) {
    return option == "unique" || option == "sparse" || option == "partialFilterExpression" ||
           option == "collation";
}

bool isOption(std::string_view field) {
    constexpr std::string_view kOthers[] = {"key", "name", "v", "hidden", "background"};
    return std::find(std::begin(kOthers), std::end(kOthers), field) == std::end(kOthers);
}

/// The same options: all of them, or only those of the signature.
bool sameOptions(bson::Document a, bson::Document b, bool signatureOnly) {
    const auto covers = [signatureOnly](bson::Document x, bson::Document y) {
        for (const bson::Element& field : x) {
            const bool counts =
                signatureOnly ? isInSignature(field.name()) : isOption(field.name());
            if (counts && !bson::equalValues(field, y.find(field.name()))) {
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

Status conflict(Reason reason, const char* what, bson::Document wanted, bson::Document existing) {
    return invalid(reason,
                   std::string(what) + " Requested index: " + bson::toShellText(wanted) +
                       ", existing index: " + bson::toShellText(existing));
}

/// Returns whether `existing` is exactly what is wanted, or the error of a clash.
StatusOr<bool> alreadyThere(bson::Document existing, bson::Document wanted) {
    const bool sameName = existing.find("name").stringValue() == wanted.find("name").stringValue();
    const bool sameIndex =
        sameKey(existing.find("key").document(), wanted.find("key").document()) &&
        sameOptions(existing, wanted, true);
    const bool isIdentical = sameIndex && sameOptions(existing, wanted, false);
    if (sameName && isIdentical) {
        return true;
    }
    if (sameName && sameIndex) {
        return conflict(
            Reason::kIndexOptionsConflict,
            "An equivalent index already exists with the same name but different options.",
            wanted,
            existing);
    }
    if (sameName) {
        return conflict(
            Reason::kIndexKeySpecsConflict,
            "An existing index has the same name as the requested index. When index names are not "
            "specified, they are auto generated and can cause conflicts. Please refer to our "
            "documentation.",
            wanted,
            existing);
    }
    if (isIdentical) {
        return invalid(Reason::kIndexOptionsConflict,
                       "Index already exists with a different name: " +
                           std::string(existing.find("name").stringValue()));
    }
    if (sameIndex) {
        return conflict(Reason::kIndexOptionsConflict,
                        "An equivalent index already exists with a different name and options.",
                        wanted,
                        existing);
    }
    return false;
}

/// The position of an equal one; all.size() if there is none.
StatusOr<size_t> findSame(const std::vector<bson::OwnedDocument>& all, bson::Document wanted) {
    size_t found = all.size();
    for (size_t i = 0; i < all.size(); ++i) {
        FRESHET_ASSIGN_OR_RETURN(const bool isSame, alreadyThere(all[i].view(), wanted));
        found = isSame ? i : found;
    }
    return found;
}

Status checkExpiry(bson::Document spec) {
    const bson::Element expiry = spec.find("expireAfterSeconds");
    if (!expiry.isNumber()) {
        return Status::ok();
    }
    if (spec.find("key").document().fieldCount() != 1) {
        return cannotCreate(
            "TTL indexes are single-field indexes, compound indexes do not support TTL. Index "
            "spec: " +
            bson::toShellText(spec));
    }
    if (expiry.toInt64() < 0) {
        return cannotCreate(
            "TTL index 'expireAfterSeconds' option cannot be less than 0. Index "
            "spec: " +
            bson::toShellText(spec));
    }
    if (expiry.toInt64() > kExpireSecondsMax) {
        return cannotCreate(
            "TTL index 'expireAfterSeconds' option must be within an acceptable "
            "range, try a lower number. Index spec: " +
            bson::toShellText(spec));
    }
    return Status::ok();
}

Status checkOptions(bson::Document spec) {
    FRESHET_RETURN_IF_ERROR(checkExpiry(spec));
    if (spec.has("partialFilterExpression") && spec.has("sparse")) {
        return cannotCreate("cannot mix \"partialFilterExpression\" and \"sparse\" options");
    }
    return Status::ok();
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

/// At most kIndexesMax indexes are compared with, so a long list of requests takes linear time.
StatusOr<std::vector<bson::OwnedDocument>> resolveIndexRequests(
    const std::string& ns,
    const std::vector<bson::OwnedDocument>& existing,
    const std::vector<IndexRequest>& requests) {
    std::vector<bson::OwnedDocument> all = existing;
    for (const IndexRequest& request : requests) {
        FRESHET_RETURN_IF_ERROR(checkKey(request.key.view()));
        if (isIdKey(request.key.view())) {
            continue;  // every collection has it, whatever name the client gives
        }
        bson::OwnedDocument spec = specOf(request);
        FRESHET_RETURN_IF_ERROR(checkOptions(spec.view()));
        FRESHET_ASSIGN_OR_RETURN(const size_t same, findSame(all, spec.view()));
        if (same < existing.size()) {
            continue;
        }
        if (same < all.size()) {
            return invalid(Reason::kIndexAlreadyExists,
                           "Identical index already exists: " +
                               std::string(spec.view().find("name").stringValue()));
        }
        if (all.size() >= kIndexesMax) {
            return cannotCreate("add index fails, too many indexes for " + ns +
                                " key:" + bson::toShellText(request.key.view()));
        }
        all.push_back(std::move(spec));
    }
    return std::vector<bson::OwnedDocument>(all.begin() + static_cast<long>(existing.size()),
                                            all.end());
}

}  // namespace freshet::catalog
