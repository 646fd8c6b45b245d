// SPDX-License-Identifier: Apache-2.0
/// Catalog records to bytes and back, and descriptions made from them.
#include "freshet/catalog/names/record.h"

#include "freshet/catalog/state/state.h"
#include "freshet/catalog/storage_engine.h"
#include "freshet/platform/thread.h"

namespace freshet::catalog {

namespace {

constexpr int32_t kRecordVersion = 1;
constexpr uint8_t kUuidSubtype = 4;
constexpr size_t kUuidBytes = 16;

Status corrupt(std::string what) {
    return Status(Code::kCorruption, "catalog record: " + std::move(what));
}

StatusOr<engine::TreeId> treeIdOf(const bson::Element& element) {
    int64_t id = element.toInt64();
    if (id <= engine::kCatalogTree || id > INT32_MAX) {
        return corrupt("bad tree id");
    }
    return static_cast<engine::TreeId>(id);
}

/// Stored options may be older than the check of their form, and so be meaningless.
void setCodec(engine::Store& store, engine::TreeId tree, bson::Document options) {
    const bson::Element chosen = options.find("storageEngine");
    if (!chosen.isObject()) {
        return;
    }
    const auto codec = codecOf(chosen.document());
    if (codec.isOk() && codec->has_value()) {
        store.setCodec(tree, **codec);
    }
}

StatusOr<PredicateRef> compile(const PredicateCompiler& compiler,
                               bson::Document expression,
                               PredicateUse use) {
    if (!compiler) {
        return Status(Code::kUnsupported, "this program cannot compile predicates on documents");
    }
    return compiler(expression, use);
}

}  // namespace

std::string CollectionRecord::encode() const {
    bson::Builder builder;
    builder.add("v", kRecordVersion);
    builder.add("uuid", bson::Binary{kUuidSubtype, uuid});
    builder.add("tree", static_cast<int64_t>(tree));
    builder.add("options", options.view());
    {
        auto list = builder.array("indexes");
        for (const IndexRecord& index : indexes) {
            auto entry = list.object(list.nextIndex());
            entry.add("tree", static_cast<int64_t>(index.tree));
            entry.add("multikey", index.multikey);
            entry.add("spec", index.spec.view());
        }
    }
    return builder.finish();
}

StatusOr<CollectionRecord> CollectionRecord::decode(ByteView bytes) {
    auto parsed = bson::Document::parse(bytes);
    if (!parsed.isOk()) {
        return corrupt("not BSON");
    }
    bson::Document document = *parsed;
    if (document.find("v").toInt64() != kRecordVersion) {
        return corrupt("unknown version");
    }
    bson::Element uuid = document.find("uuid");
    bson::Element options = document.find("options");
    bson::Element indexes = document.find("indexes");
    if (uuid.type() != bson::Type::kBinary || uuid.binaryValue().bytes.size() != kUuidBytes ||
        !options.isObject() || !indexes.isArray()) {
        return corrupt("a field is missing");
    }
    CollectionRecord record;
    record.uuid = std::string(uuid.binaryValue().bytes);
    record.options = bson::OwnedDocument(options.document());
    FRESHET_ASSIGN_OR_RETURN(record.tree, treeIdOf(document.find("tree")));
    for (const bson::Element& entry : indexes.document()) {
        if (!entry.isObject() || !entry.document().find("spec").isObject()) {
            return corrupt("bad index");
        }
        IndexRecord index;
        FRESHET_ASSIGN_OR_RETURN(index.tree, treeIdOf(entry.document().find("tree")));
        index.multikey = entry.document().find("multikey").isTruthy();
        index.spec = bson::OwnedDocument(entry.document().find("spec").document());
        record.indexes.push_back(std::move(index));
    }
    if (record.indexes.empty()) {
        return corrupt("no _id index");
    }
    return record;
}

std::string catalogKey(std::string_view db, std::string_view collection) {
    std::string key = "c";
    key.push_back('\0');
    key.append(db);
    key.push_back('\0');
    key.append(collection);
    return key;
}

bool splitCatalogKey(ByteView key, std::string* db, std::string* collection) {
    if (key.size() < 4 || key[0] != 'c' || key[1] != '\0') {
        return false;
    }
    key.remove_prefix(2);
    size_t split = key.find('\0');
    if (split == ByteView::npos) {
        return false;
    }
    *db = std::string(key.substr(0, split));
    *collection = std::string(key.substr(split + 1));
    return true;
}

CollectionRecord recordOf(const Collection& collection) {
    CollectionRecord record;
    record.uuid = collection.uuid;
    record.tree = collection.treeId;
    record.options = collection.options;
    for (const auto& index : collection.indexes) {
        record.indexes.push_back({index->treeId, index->isMultikey(), index->spec});
    }
    return record;
}

StatusOr<std::shared_ptr<Index>> makeIndex(engine::Store& store,
                                           const PredicateCompiler& compiler,
                                           const IndexRecord& record) {
    auto index = std::make_shared<Index>();
    bson::Document spec = record.spec.view();
    if (!spec.find("name").isString() || !spec.find("key").isObject()) {
        return corrupt("bad index spec");
    }
    index->name = std::string(spec.find("name").stringValue());
    for (const bson::Element& field : spec.find("key").document()) {
        index->fields.push_back({std::string(field.name()), field.toDouble() < 0});
    }
    if (index->fields.empty()) {
        return corrupt("index without fields");
    }
    index->unique = index->isId() || spec.find("unique").isTruthy();
    index->sparse = spec.find("sparse").isTruthy();
    index->hidden = spec.find("hidden").isTruthy();
    if (const bson::Element expiry = spec.find("expireAfterSeconds"); expiry.isNumber()) {
        index->expireAfterSeconds = expiry.toInt64();
    }
    if (const bson::Element filter = spec.find("partialFilterExpression"); filter.isObject()) {
        FRESHET_ASSIGN_OR_RETURN(index->filter,
                                 compile(compiler, filter.document(), PredicateUse::kPartialIndex));
    }
    index->treeId = record.tree;
    index->tree = store.tree(record.tree);
    setCodec(store, record.tree, spec);
    index->spec = record.spec;
    index->state = std::make_shared<IndexState>();
    // Relaxed: no other thread knows the index yet.
    index->state->multikey.store(record.multikey, sync::kRelaxed);
    index->state->multikeyRecorded.store(record.multikey, sync::kRelaxed);
    return index;
}

Status compileValidator(const PredicateCompiler& compiler, Collection* collection) {
    const bson::Element validator = collection->options.view().find("validator");
    collection->validator = nullptr;
    if (!validator.isObject() || validator.document().isEmpty()) {
        return Status::ok();
    }
    FRESHET_ASSIGN_OR_RETURN(collection->validator,
                             compile(compiler, validator.document(), PredicateUse::kValidator));
    return Status::ok();
}

StatusOr<std::shared_ptr<Collection>> makeCollection(engine::Store& store,
                                                     const PredicateCompiler& compiler,
                                                     std::string db,
                                                     std::string name,
                                                     const CollectionRecord& record) {
    auto collection = std::make_shared<Collection>();
    collection->db = std::move(db);
    collection->name = std::move(name);
    collection->uuid = record.uuid;
    collection->options = record.options;
    FRESHET_RETURN_IF_ERROR(compileValidator(compiler, collection.get()));
    collection->treeId = record.tree;
    collection->records = store.tree(record.tree);
    setCodec(store, record.tree, record.options.view());
    for (const IndexRecord& indexRecord : record.indexes) {
        FRESHET_ASSIGN_OR_RETURN(auto index, makeIndex(store, compiler, indexRecord));
        collection->indexes.push_back(std::move(index));
    }
    auto state = std::make_shared<CollectionState>();
    state->catalogTree = store.tree(engine::kCatalogTree);
    collection->gate = std::shared_ptr<Gate>(state, &state->gate);
    collection->nextRecordId = std::shared_ptr<sync::Atomic<RecordId>>(state, &state->nextRecordId);
    collection->state = std::move(state);
    return collection;
}

bson::OwnedDocument idIndexSpec() {
    bson::Builder builder;
    builder.add("v", int32_t{2});
    {
        auto key = builder.object("key");
        key.add("_id", int32_t{1});
    }
    builder.add("name", "_id_");
    return bson::OwnedDocument(builder.finish());
}

std::string newUuid() {
    std::string uuid;
    appendLe(uuid, platform::randomSeed());
    appendLe(uuid, platform::randomSeed());
    uuid[6] = static_cast<char>((uuid[6] & 0x0f) | 0x40);
    uuid[8] = static_cast<char>((uuid[8] & 0x3f) | 0x80);
    return uuid;
}

}  // namespace freshet::catalog
