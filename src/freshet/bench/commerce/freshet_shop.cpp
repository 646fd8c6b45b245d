// SPDX-License-Identifier: Apache-2.0
/// The shop over the wire protocol, without transactions: a checkout is a series of changes to
/// single documents. Each change can be undone or completed by any client that finds the cart in
/// the state "in checkout". From the moment a product's stock is taken until the order exists, the
/// product carries a hold, {order, quantity}. Only the last change of an operation asks for
/// durability: it comes later in the journal than the others, so waiting for it covers them too.
#include "freshet/bench/commerce/shop.h"
#include "freshet/bench/processes.h"
#include "freshet/bson/json.h"
#include "freshet/client/client.h"

namespace freshet::bench {
namespace {

using bson::Builder;
using bson::Document;
using bson::OwnedDocument;

constexpr std::string_view kShopDatabase = "commerce";

int64_t wide(uint32_t number) {
    return number;
}

/// Runs commands; every reply that is not a plain success is an error.
class Counter {
public:
    explicit Counter(std::unique_ptr<client::Connection> connection)
        : connection_(std::move(connection)) {}

    StatusOr<OwnedDocument> run(Builder& command, std::string_view database = kShopDatabase) {
        const std::string bytes = command.finish();
        FRESHET_ASSIGN_OR_RETURN(OwnedDocument reply,
                                 connection_->runChecked(database, Document(bytes)));
        if (reply.view().has("writeErrors") || reply.view().has("writeConcernError")) {
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

void waitForDisk(Builder* command, bool durable) {
    command->object("writeConcern").add("w", int32_t{1}).add("j", durable);
}

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
            document.add("_id", wide(cart)).add("customer", wide(customer)).add("state", "open");
            document.array("lines");
        }
        waitForDisk(&command, true);
        return counter_.write(command, 1);
    }
    Status addLine(uint32_t cart, const CartLine& line) override {
        Builder command;
        command.add("update", "carts");
        {
            Builder statements = command.array("updates");
            Builder statement = statements.object(statements.nextIndex());
            statement.object("q").add("_id", wide(cart)).add("state", "open");
            Builder change = statement.object("u");
            Builder push = change.object("$push");
            addLineTo(push.object("lines"), line);
        }
        waitForDisk(&command, true);
        return counter_.write(command, 1);
    }
    StatusOr<bool> checkOut(uint32_t cart, uint32_t customer) override {
        FRESHET_ASSIGN_OR_RETURN(const std::vector<CartLine> lines, claimCart(cart));
        FRESHET_ASSIGN_OR_RETURN(const uint64_t taken, takeStock(cart, lines));
        if (taken < lines.size()) {
            FRESHET_RETURN_IF_ERROR(dropHolds(cart, lines, true));
            FRESHET_RETURN_IF_ERROR(reopenCart(cart));
            return false;
        }
        int64_t total = 0;
        for (const CartLine& line : lines) {
            total += line.price * line.quantity;
        }
        FRESHET_RETURN_IF_ERROR(insertOrder(cart, customer, total, lines));
        FRESHET_RETURN_IF_ERROR(dropHolds(cart, lines, false));
        FRESHET_RETURN_IF_ERROR(pay(cart, customer, total));
        FRESHET_RETURN_IF_ERROR(removeCart(cart));
        return true;
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
        waitForDisk(&command, true);
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
    StatusOr<std::vector<CartLine>> claimCart(uint32_t cart);
    StatusOr<uint64_t> takeStock(uint32_t order, const std::vector<CartLine>& lines);
    /// With or without giving the stock back. Products without a hold of this order are left alone.
    Status dropHolds(uint32_t order, const std::vector<CartLine>& lines, bool giveBack);
    Status reopenCart(uint32_t cart);
    Status insertOrder(uint32_t order,
                       uint32_t customer,
                       int64_t total,
                       const std::vector<CartLine>& lines);
    Status pay(uint32_t order, uint32_t customer, int64_t total);
    Status removeCart(uint32_t cart);

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

StatusOr<std::vector<CartLine>> FreshetSession::claimCart(uint32_t cart) {
    Builder command;
    command.add("findAndModify", "carts");
    command.object("query").add("_id", wide(cart)).add("state", "open");
    {
        Builder update = command.object("update");
        update.object("$set").add("state", "in checkout");
    }
    waitForDisk(&command, false);
    FRESHET_ASSIGN_OR_RETURN(const OwnedDocument reply, counter_.run(command));
    const bson::Element lines = reply.view().findPath("value.lines");
    if (!lines.isArray()) {
        return Status(Code::kCorruption, "A cart is not open: " + bson::toJson(reply.view()));
    }
    return linesOf(lines);
}

StatusOr<uint64_t> FreshetSession::takeStock(uint32_t order, const std::vector<CartLine>& lines) {
    Builder command;
    command.add("update", "products").add("ordered", true);
    {
        Builder statements = command.array("updates");
        for (const CartLine& line : lines) {
            const auto quantity = static_cast<int32_t>(line.quantity);
            Builder statement = statements.object(statements.nextIndex());
            {
                Builder query = statement.object("q");
                query.add("_id", wide(line.product));
                query.object("stock").add("$gte", quantity);
            }
            Builder change = statement.object("u");
            change.object("$inc").add("stock", -quantity);
            Builder push = change.object("$push");
            push.object("holds").add("order", wide(order)).add("quantity", quantity);
        }
    }
    waitForDisk(&command, false);
    FRESHET_ASSIGN_OR_RETURN(const OwnedDocument reply, counter_.run(command));
    return static_cast<uint64_t>(reply.view().find("n").toInt64());
}

Status FreshetSession::dropHolds(uint32_t order,
                                 const std::vector<CartLine>& lines,
                                 bool giveBack) {
    Builder command;
    command.add("update", "products").add("ordered", true);
    {
        Builder statements = command.array("updates");
        for (const CartLine& line : lines) {
            Builder statement = statements.object(statements.nextIndex());
            statement.object("q").add("_id", wide(line.product)).add("holds.order", wide(order));
            Builder change = statement.object("u");
            if (giveBack) {
                change.object("$inc").add("stock", static_cast<int32_t>(line.quantity));
            }
            Builder pull = change.object("$pull");
            pull.object("holds").add("order", wide(order));
        }
    }
    waitForDisk(&command, false);
    return counter_.run(command).status();
}

Status FreshetSession::reopenCart(uint32_t cart) {
    Builder command;
    command.add("update", "carts");
    {
        Builder statements = command.array("updates");
        Builder statement = statements.object(statements.nextIndex());
        statement.object("q").add("_id", wide(cart));
        Builder change = statement.object("u");
        change.object("$set").add("state", "open");
    }
    waitForDisk(&command, true);
    return counter_.write(command, 1);
}

Status FreshetSession::insertOrder(uint32_t order,
                                   uint32_t customer,
                                   int64_t total,
                                   const std::vector<CartLine>& lines) {
    Builder command;
    command.add("insert", "orders");
    {
        Builder documents = command.array("documents");
        Builder document = documents.object(documents.nextIndex());
        document.add("_id", wide(order)).add("customer", wide(customer)).add("total", total);
        Builder list = document.array("lines");
        for (const CartLine& line : lines) {
            addLineTo(list.object(list.nextIndex()), line);
        }
    }
    waitForDisk(&command, false);
    return counter_.write(command, 1);
}

/// If an interrupted checkout is completed later, the customer must not pay twice. The numbers of a
/// customer's orders rise, so the payment applies only if lastOrder is lower.
Status FreshetSession::pay(uint32_t order, uint32_t customer, int64_t total) {
    Builder command;
    command.add("update", "customers");
    {
        Builder statements = command.array("updates");
        Builder statement = statements.object(statements.nextIndex());
        {
            Builder query = statement.object("q");
            query.add("_id", wide(customer));
            query.object("lastOrder").add("$lt", wide(order));
        }
        Builder change = statement.object("u");
        change.object("$inc").add("paid", total);
        change.object("$set").add("lastOrder", wide(order));
    }
    waitForDisk(&command, false);
    return counter_.write(command, 1);
}

Status FreshetSession::removeCart(uint32_t cart) {
    Builder command;
    command.add("delete", "carts");
    {
        Builder statements = command.array("deletes");
        Builder statement = statements.object(statements.nextIndex());
        statement.object("q").add("_id", wide(cart));
        statement.add("limit", int32_t{1});
    }
    waitForDisk(&command, true);
    return counter_.write(command, 1);
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
                Builder document = documents.object(documents.nextIndex());
                document.add("_id", wide(i))
                    .add("name", productName(i))
                    .add("category", wide(product.category))
                    .add("price", product.price)
                    .add("stock", static_cast<int32_t>(product.stock))
                    .add("description", std::string(kDescriptionBytes, 'd'));
                document.array("holds");
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
                    .add("paid", int64_t{0})
                    .add("lastOrder", int64_t{-1});
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
        out.loose += product.find("holds").document().isEmpty() ? 0 : 1;
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
    FRESHET_RETURN_IF_ERROR(forEach("carts", [&](Document cart) {
        ++out.carts;
        out.loose += cart.find("state").stringValue() == "open" ? 0 : 1;
    }));
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
