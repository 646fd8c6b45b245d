// SPDX-License-Identifier: Apache-2.0
/// The shop over the wire protocol. A checkout is a transaction, as drivers send it, in three round
/// trips: take the cart; change everything (bulkWrite); commit. If another checkout has changed one
/// of the products meanwhile, it is aborted and done again.
#include "freshet/bench/commerce/shop.h"
#include "freshet/bench/processes.h"
#include "freshet/bson/json.h"
#include "freshet/client/client.h"

#include <array>

namespace freshet::bench {
namespace {

using bson::Builder;
using bson::Document;
using bson::OwnedDocument;

constexpr std::string_view kShopDatabase = "commerce";

int64_t wide(uint32_t number) {
    return number;
}

/// Whether the reply says that the transaction was aborted for another one and may be tried again.
bool isTransient(Document reply) {
    const bson::Element labels = reply.find("errorLabels");
    if (labels.isArray()) {
        for (const bson::Element& label : labels.document()) {
            if (label.isString() && label.stringValue() == "TransientTransactionError") {
                return true;
            }
        }
    }
    return false;
}

/// Runs commands; every reply that is not a plain success is an error.
class Counter {
public:
    explicit Counter(std::unique_ptr<client::Connection> connection)
        : connection_(std::move(connection)) {}

    StatusOr<OwnedDocument> run(Builder& command, std::string_view database = kShopDatabase) {
        const std::string bytes = command.finish();
        FRESHET_ASSIGN_OR_RETURN(OwnedDocument reply, connection_->run(database, Document(bytes)));
        if (isTransient(reply.view())) {
            return Status(Code::kConflict, "The transaction is to be tried again");
        }
        if (!reply.view().find("ok").isTruthy() || reply.view().has("writeErrors") ||
            reply.view().has("writeConcernError")) {
            return Status(Code::kIo, "The server answered " + bson::toJson(reply.view()));
        }
        return reply;
    }
    /// Like run(), for a write that must change exactly `expected` documents.
    Status write(Builder& command, uint64_t expected) {
        FRESHET_ASSIGN_OR_RETURN(const OwnedDocument reply, run(command));
        return reply.view().find("n").toInt64() == static_cast<int64_t>(expected)
                   ? Status::ok()
                   : Status(Code::kCorruption,
                            "The server answered " + bson::toJson(reply.view()) + " instead of " +
                                std::to_string(expected));
    }
    client::Connection& connection() { return *connection_; }

private:
    std::unique_ptr<client::Connection> connection_;
};

void waitForDisk(Builder* command) {
    command->object("writeConcern").add("w", int32_t{1}).add("j", true);
}

/// A logical session: what makes a command one of its transaction.
class TransactionFields {
public:
    TransactionFields() {
        const bson::ObjectId unique = bson::ObjectId::generate();
        std::copy(std::begin(unique.bytes), std::end(unique.bytes), id_.begin());
    }
    void next() { ++number_; }
    void addTo(Builder* command, bool starts) const {
        command->object("lsid").add("id", bson::Binary{kUuid, {id_.data(), id_.size()}});
        command->add("txnNumber", number_).add("autocommit", false);
        if (starts) {
            command->add("startTransaction", true);
        }
    }

private:
    static constexpr uint8_t kUuid = 4;
    std::array<char, 16> id_{};
    int64_t number_ = 0;
};

void addFind(Builder* command,
             std::string_view collection,
             std::string_view field,
             int64_t value,
             uint32_t limit) {
    command->add("find", collection);
    command->object("filter").add(field, value);
    command->add("limit", static_cast<int32_t>(limit)).add("singleBatch", true);
}

class FreshetSession final : public ShopSession {
public:
    explicit FreshetSession(std::unique_ptr<client::Connection> connection)
        : counter_(std::move(connection)) {}

    StatusOr<uint64_t> browse(uint32_t category) override {
        Builder command;
        addFind(&command, "products", "category", category, kPageProducts);
        command.object("sort").add("price", int32_t{1});
        return shown(command);
    }
    StatusOr<int64_t> lookUp(uint32_t product) override {
        Builder command;
        addFind(&command, "products", "_id", product, 1);
        FRESHET_ASSIGN_OR_RETURN(const OwnedDocument reply, counter_.run(command));
        return reply.view().findPath("cursor.firstBatch.0.price").toInt64();
    }
    StatusOr<uint64_t> readReviews(uint32_t product) override {
        Builder command;
        addFind(&command, "reviews", "product", product, kPageReviews);
        command.object("sort").add("_id", int32_t{-1});
        return shown(command);
    }
    Status createCart(uint32_t cart, uint32_t customer) override {
        Builder command;
        command.add("insert", "carts");
        {
            Builder documents = command.array("documents");
            Builder document = documents.object(documents.nextIndex());
            document.add("_id", wide(cart)).add("customer", wide(customer));
            document.array("lines");
        }
        waitForDisk(&command);
        return counter_.write(command, 1);
    }
    Status addLine(uint32_t cart, const CartLine& line) override {
        Builder command;
        command.add("update", "carts");
        {
            Builder statements = command.array("updates");
            Builder statement = statements.object(statements.nextIndex());
            statement.object("q").add("_id", wide(cart));
            Builder change = statement.object("u");
            Builder push = change.object("$push");
            addLineTo(push.object("lines"), line);
        }
        waitForDisk(&command);
        return counter_.write(command, 1);
    }
    StatusOr<bool> checkOut(uint32_t cart, uint32_t customer) override {
        for (;;) {
            transaction_.next();
            StatusOr<bool> done = tryCheckOut(cart, customer);
            if (done.isOk() && *done) {
                return done;
            }
            if (!done.isOk() && done.status().code() != Code::kConflict) {
                return done;
            }
            // As drivers do, also after the server has said that it is aborted.
            FRESHET_RETURN_IF_ERROR(abort());
            if (done.isOk()) {
                return done;
            }
        }
    }
    Status review(uint32_t customer, const Step& review) override {
        Builder command;
        command.add("insert", "reviews");
        {
            Builder documents = command.array("documents");
            documents.object(documents.nextIndex())
                .add("_id", wide(review.review))
                .add("product", wide(review.subject))
                .add("customer", wide(customer))
                .add("stars", static_cast<int32_t>(review.number))
                .add("text", kReviewText);
        }
        waitForDisk(&command);
        return counter_.write(command, 1);
    }
    Status settle() override { return Status::ok(); }

private:
    static void addLineTo(Builder to, const CartLine& line) {
        to.add("product", wide(line.product))
            .add("quantity", static_cast<int32_t>(line.quantity))
            .add("price", line.price);
    }
    StatusOr<uint64_t> shown(Builder& command) {
        FRESHET_ASSIGN_OR_RETURN(const OwnedDocument reply, counter_.run(command));
        const bson::Element batch = reply.view().findPath("cursor.firstBatch");
        return static_cast<uint64_t>(batch.document().fieldCount());
    }
    /// False: there is not enough of some product; to be aborted. kConflict: likewise, and to be
    /// tried again.
    StatusOr<bool> tryCheckOut(uint32_t cart, uint32_t customer);
    StatusOr<std::vector<CartLine>> takeCart(uint32_t cart);
    /// Takes the stock, lets the customer pay and inserts the order. False: see tryCheckOut().
    StatusOr<bool> changeAll(uint32_t order, uint32_t customer, const std::vector<CartLine>& lines);
    Status commit();
    Status abort();

    TransactionFields transaction_;
    Counter counter_;
};

std::vector<CartLine> linesOf(const bson::Element& lines) {
    std::vector<CartLine> out;
    for (const bson::Element& line : lines.document()) {
        const Document fields = line.document();
        out.push_back({static_cast<uint32_t>(fields.find("product").toInt64()),
                       static_cast<uint32_t>(fields.find("quantity").toInt64()),
                       fields.find("price").toInt64()});
    }
    return out;
}

StatusOr<bool> FreshetSession::tryCheckOut(uint32_t cart, uint32_t customer) {
    FRESHET_ASSIGN_OR_RETURN(const std::vector<CartLine> lines, takeCart(cart));
    FRESHET_ASSIGN_OR_RETURN(const bool isEnough, changeAll(cart, customer, lines));
    if (isEnough) {
        FRESHET_RETURN_IF_ERROR(commit());
    }
    return isEnough;
}

StatusOr<std::vector<CartLine>> FreshetSession::takeCart(uint32_t cart) {
    Builder command;
    command.add("findAndModify", "carts");
    command.object("query").add("_id", wide(cart));
    command.add("remove", true);
    transaction_.addTo(&command, true);
    FRESHET_ASSIGN_OR_RETURN(const OwnedDocument reply, counter_.run(command));
    const bson::Element lines = reply.view().findPath("value.lines");
    if (!lines.isArray()) {
        return Status(Code::kCorruption, "A cart is not there: " + bson::toJson(reply.view()));
    }
    return linesOf(lines);
}

enum Namespace : int32_t { kProducts, kCustomers, kOrders };

void addNamespaces(Builder* command) {
    Builder namespaces = command->array("nsInfo");
    for (const char* collection : {"products", "customers", "orders"}) {
        namespaces.object(namespaces.nextIndex())
            .add("ns", std::string(kShopDatabase) + "." + collection);
    }
}

void addTaking(Builder* operations, const CartLine& line) {
    const auto quantity = static_cast<int32_t>(line.quantity);
    Builder operation = operations->object(operations->nextIndex());
    operation.add("update", int32_t{kProducts});
    {
        Builder filter = operation.object("filter");
        filter.add("_id", wide(line.product));
        filter.object("stock").add("$gte", quantity);
    }
    Builder change = operation.object("updateMods");
    change.object("$inc").add("stock", -quantity);
}

void addPaying(Builder* operations, uint32_t customer, int64_t total) {
    Builder operation = operations->object(operations->nextIndex());
    operation.add("update", int32_t{kCustomers});
    operation.object("filter").add("_id", wide(customer));
    Builder change = operation.object("updateMods");
    change.object("$inc").add("paid", total);
}

StatusOr<bool> FreshetSession::changeAll(uint32_t order,
                                         uint32_t customer,
                                         const std::vector<CartLine>& lines) {
    int64_t total = 0;
    for (const CartLine& line : lines) {
        total += line.price * line.quantity;
    }
    Builder command;
    command.add("bulkWrite", int32_t{1}).add("errorsOnly", true);
    {
        Builder operations = command.array("ops");
        for (const CartLine& line : lines) {
            addTaking(&operations, line);
        }
        addPaying(&operations, customer, total);
        Builder operation = operations.object(operations.nextIndex());
        operation.add("insert", int32_t{kOrders});
        Builder document = operation.object("document");
        document.add("_id", wide(order)).add("customer", wide(customer)).add("total", total);
        Builder list = document.array("lines");
        for (const CartLine& line : lines) {
            addLineTo(list.object(list.nextIndex()), line);
        }
    }
    addNamespaces(&command);
    transaction_.addTo(&command, false);
    FRESHET_ASSIGN_OR_RETURN(const OwnedDocument reply, counter_.run(command, "admin"));
    if (reply.view().find("nErrors").toInt64() != 0) {
        return Status(Code::kIo, "The server answered " + bson::toJson(reply.view()));
    }
    return reply.view().find("nMatched").toInt64() == static_cast<int64_t>(lines.size()) + 1;
}

Status FreshetSession::commit() {
    Builder command;
    command.add("commitTransaction", int32_t{1});
    transaction_.addTo(&command, false);
    waitForDisk(&command);
    return counter_.run(command, "admin").status();
}

/// The server may have aborted it already.
Status FreshetSession::abort() {
    Builder command;
    command.add("abortTransaction", int32_t{1});
    transaction_.addTo(&command, false);
    const std::string bytes = command.finish();
    return counter_.connection().run("admin", Document(bytes)).status();
}

class FreshetShop final : public Shop {
public:
    FreshetShop(std::string name, client::ConnectionString where, Counter counter)
        : name_(std::move(name)), where_(std::move(where)), counter_(std::move(counter)) {}

    std::string_view name() const override { return name_; }
    Status stock(const Plan& plan) override;
    StatusOr<std::unique_ptr<ShopSession>> enter() override {
        FRESHET_ASSIGN_OR_RETURN(auto connection, client::Connection::open(where_));
        return std::unique_ptr<ShopSession>(new FreshetSession(std::move(connection)));
    }
    StatusOr<Books> books() override;
    StatusOr<ShopCost> cost() override;

private:
    Status loadProducts(const Plan& plan);
    Status loadCustomers(const Plan& plan);
    Status createIndexes();
    Status forEach(std::string_view collection, const std::function<void(Document)>& each);

    const std::string name_;
    const client::ConnectionString where_;
    Counter counter_;
};

constexpr uint32_t kBatch = 1'000;

Status FreshetShop::stock(const Plan& plan) {
    Builder drop;
    drop.add("dropDatabase", int32_t{1});
    FRESHET_RETURN_IF_ERROR(counter_.run(drop).status());
    FRESHET_RETURN_IF_ERROR(createIndexes());
    FRESHET_RETURN_IF_ERROR(loadProducts(plan));
    FRESHET_RETURN_IF_ERROR(loadCustomers(plan));
    for (const char* collection : {"carts", "orders"}) {
        Builder create;
        create.add("create", collection);
        FRESHET_RETURN_IF_ERROR(counter_.run(create).status());
    }
    Builder checkpoint;
    checkpoint.add("fsync", int32_t{1});
    return counter_.run(checkpoint, "admin").status();
}

Status FreshetShop::createIndexes() {
    struct Index {
        const char* collection;
        const char* fields[2];
        int32_t secondDirection;
        bool unique;
    };
    for (const Index& index : {Index{"products", {"category", "price"}, 1, false},
                               Index{"reviews", {"product", "customer"}, 1, true},
                               Index{"reviews", {"product", "_id"}, -1, false}}) {
        Builder command;
        command.add("createIndexes", index.collection);
        {
            Builder list = command.array("indexes");
            Builder one = list.object(list.nextIndex());
            one.object("key")
                .add(index.fields[0], int32_t{1})
                .add(index.fields[1], index.secondDirection);
            one.add("name", std::string(index.fields[0]) + "_" + index.fields[1]);
            one.add("unique", index.unique);
        }
        FRESHET_RETURN_IF_ERROR(counter_.run(command).status());
    }
    return Status::ok();
}

Status FreshetShop::loadProducts(const Plan& plan) {
    for (uint32_t from = 0; from < plan.products.size(); from += kBatch) {
        const auto to = std::min(from + kBatch, static_cast<uint32_t>(plan.products.size()));
        Builder command;
        command.add("insert", "products");
        {
            Builder documents = command.array("documents");
            for (uint32_t i = from; i < to; ++i) {
                const Product& product = plan.products[i];
                documents.object(documents.nextIndex())
                    .add("_id", wide(i))
                    .add("name", productName(i))
                    .add("category", wide(product.category))
                    .add("price", product.price)
                    .add("stock", static_cast<int32_t>(product.stock))
                    .add("description", std::string(kDescriptionBytes, 'd'));
            }
        }
        FRESHET_RETURN_IF_ERROR(counter_.write(command, to - from));
    }
    return Status::ok();
}

Status FreshetShop::loadCustomers(const Plan& plan) {
    for (uint32_t from = 0; from < plan.customers; from += kBatch) {
        const uint32_t to = std::min(from + kBatch, plan.customers);
        Builder command;
        command.add("insert", "customers");
        {
            Builder documents = command.array("documents");
            for (uint32_t i = from; i < to; ++i) {
                documents.object(documents.nextIndex())
                    .add("_id", wide(i))
                    .add("email", customerEmail(i))
                    .add("paid", int64_t{0});
            }
        }
        FRESHET_RETURN_IF_ERROR(counter_.write(command, to - from));
    }
    return Status::ok();
}

Status FreshetShop::forEach(std::string_view collection,
                            const std::function<void(Document)>& each) {
    Builder command;
    command.add("find", collection);
    command.object("sort").add("_id", int32_t{1});
    const std::string bytes = command.finish();
    return client::forEach(
        counter_.connection(), kShopDatabase, Document(bytes), [&](Document document) {
            each(document);
            return true;
        });
}

StatusOr<Books> FreshetShop::books() {
    Books out;
    FRESHET_RETURN_IF_ERROR(forEach("products", [&](Document product) {
        out.stock.push_back(product.find("stock").toInt64());
    }));
    FRESHET_RETURN_IF_ERROR(forEach("customers", [&](Document customer) {
        out.paid.push_back(customer.find("paid").toInt64());
    }));
    FRESHET_RETURN_IF_ERROR(forEach("orders", [&](Document order) {
        out.orders[static_cast<uint32_t>(order.find("_id").toInt64())] = {
            static_cast<uint32_t>(order.find("customer").toInt64()),
            order.find("total").toInt64(),
            linesOf(order.find("lines"))};
    }));
    FRESHET_RETURN_IF_ERROR(forEach("carts", [&](Document) { ++out.carts; }));
    FRESHET_RETURN_IF_ERROR(forEach("reviews", [&](Document) { ++out.reviews; }));
    return out;
}

StatusOr<ShopCost> FreshetShop::cost() {
    Builder command;
    command.add("serverStatus", int32_t{1});
    FRESHET_ASSIGN_OR_RETURN(const OwnedDocument status, counter_.run(command, "admin"));
    ShopCost out;
    out.flushes =
        static_cast<uint64_t>(status.view().findPath("freshet.journal.flushes").toInt64());
    const int64_t pid = status.view().find("pid").toInt64();
    if (programOf(pid) == "freshetd") {
        FRESHET_ASSIGN_OR_RETURN(out.cpuMicros, cpuMicrosOf(pid));
    }
    return out;
}

}  // namespace

StatusOr<std::unique_ptr<Shop>> openFreshetShop(const std::string& name, const std::string& uri) {
    FRESHET_ASSIGN_OR_RETURN(client::ConnectionString where, client::ConnectionString::parse(uri));
    FRESHET_ASSIGN_OR_RETURN(where, where.lookedUp());
    FRESHET_ASSIGN_OR_RETURN(auto connection, client::Connection::open(where));
    return std::unique_ptr<Shop>(
        new FreshetShop(name, std::move(where), Counter(std::move(connection))));
}

}  // namespace freshet::bench
