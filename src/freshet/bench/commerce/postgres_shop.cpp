// SPDX-License-Identifier: Apache-2.0
/// The shop in PostgreSQL: tables and prepared statements. A checkout is a transaction in two round
/// trips (libpq's pipeline): lock and read, then change and commit. There are no foreign keys,
/// since the document side does not check them either.
#include "freshet/bench/commerce/shop.h"

#ifdef FRESHET_HAS_LIBPQ
#include "freshet/bench/processes.h"

#include <postgresql/libpq-fe.h>

#include <array>
#include <charconv>
#endif

namespace freshet::bench {

#ifdef FRESHET_HAS_LIBPQ
namespace {

/// A statement's parameters as text; libpq takes them as an array of pointers.
using Values = std::vector<std::string>;

class Rows {
public:
    explicit Rows(PGresult* result) : result_(result, PQclear) {}
    int count() const { return PQntuples(result_.get()); }
    int64_t number(int row, int column) const {
        const char* text = PQgetvalue(result_.get(), row, column);
        int64_t value = 0;
        std::from_chars(text, text + PQgetlength(result_.get(), row, column), value);
        return value;
    }
    /// How many rows a command changed.
    int64_t changed() const { return std::atoll(PQcmdTuples(result_.get())); }
    ExecStatusType status() const { return PQresultStatus(result_.get()); }
    std::string error() const { return PQresultErrorMessage(result_.get()); }

private:
    std::unique_ptr<PGresult, decltype(&PQclear)> result_;
};

/// One connection. Prepared statements are addressed by name.
class Postgres {
public:
    static StatusOr<std::unique_ptr<Postgres>> open(const std::string& where) {
        std::unique_ptr<Postgres> out(new Postgres(PQconnectdb(where.c_str())));
        if (PQstatus(out->connection_.get()) != CONNECTION_OK) {
            return Status(Code::kUnavailable, PQerrorMessage(out->connection_.get()));
        }
        FRESHET_RETURN_IF_ERROR(
            out->run("SET client_min_messages = warning; SET synchronous_commit = on;"
                     "SET search_path = freshet_commerce"));
        return out;
    }

    /// Any SQL text, also several statements.
    Status run(const std::string& sql) {
        return checked(Rows(PQexec(connection_.get(), sql.c_str()))).status();
    }
    StatusOr<Rows> query(const std::string& sql) {
        return checked(Rows(PQexec(connection_.get(), sql.c_str())));
    }
    Status prepare(const char* name, const char* sql) {
        return checked(Rows(PQprepare(connection_.get(), name, sql, 0, nullptr))).status();
    }
    StatusOr<Rows> execute(const char* name, const Values& values) {
        const auto pointers = pointersTo(values);
        return checked(Rows(PQexecPrepared(connection_.get(),
                                           name,
                                           static_cast<int>(values.size()),
                                           pointers.data(),
                                           nullptr,
                                           nullptr,
                                           0)));
    }
    struct Call {
        const char* name;
        Values values;
    };
    /// Sends all calls in one round trip. Returns the result of each, or the first error.
    StatusOr<std::vector<Rows>> pipeline(const std::vector<Call>& calls);

private:
    explicit Postgres(PGconn* connection) : connection_(connection, PQfinish) {}
    static std::vector<const char*> pointersTo(const Values& values) {
        std::vector<const char*> out;
        for (const std::string& value : values) {
            out.push_back(value.c_str());
        }
        return out;
    }
    static StatusOr<Rows> checked(Rows rows) {
        const ExecStatusType status = rows.status();
        if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) {
            return Status(Code::kIo, rows.error());
        }
        return rows;
    }
    Status brokenPipeline() { return Status(Code::kIo, PQerrorMessage(connection_.get())); }

    const std::unique_ptr<PGconn, decltype(&PQfinish)> connection_;
};

StatusOr<std::vector<Rows>> Postgres::pipeline(const std::vector<Call>& calls) {
    PGconn* pg = connection_.get();
    if (PQenterPipelineMode(pg) == 0) {
        return brokenPipeline();
    }
    for (const Call& call : calls) {
        const auto pointers = pointersTo(call.values);
        const int count = static_cast<int>(pointers.size());
        if (PQsendQueryPrepared(pg, call.name, count, pointers.data(), nullptr, nullptr, 0) == 0) {
            return brokenPipeline();
        }
    }
    if (PQpipelineSync(pg) == 0) {
        return brokenPipeline();
    }
    std::vector<Rows> out;
    Status first;
    for (size_t i = 0; i < calls.size(); ++i) {
        StatusOr<Rows> rows = checked(Rows(PQgetResult(pg)));
        PQclear(PQgetResult(pg));  // the null between two statements' results
        if (rows.isOk()) {
            out.push_back(std::move(rows).value());
        } else if (first.isOk()) {
            first = std::move(rows).status();
        }
    }
    PQclear(PQgetResult(pg));  // the sync's result
    PQexitPipelineMode(pg);
    if (!first.isOk()) {
        return first;
    }
    return out;
}

constexpr const char* kTables = R"(
DROP SCHEMA IF EXISTS freshet_commerce CASCADE;
CREATE SCHEMA freshet_commerce;
CREATE TABLE products (id int PRIMARY KEY, name text NOT NULL, category int NOT NULL,
    price bigint NOT NULL, stock int NOT NULL CHECK (stock >= 0), description text NOT NULL)
    WITH (fillfactor = 50);
CREATE TABLE customers (id int PRIMARY KEY, email text NOT NULL, paid bigint NOT NULL)
    WITH (fillfactor = 50);
CREATE TABLE carts (id int PRIMARY KEY, customer int NOT NULL);
CREATE TABLE cart_lines (cart int, product int, quantity int NOT NULL, price bigint NOT NULL,
    PRIMARY KEY (cart, product));
CREATE TABLE orders (id int PRIMARY KEY, customer int NOT NULL, total bigint NOT NULL);
CREATE TABLE order_lines (order_id int, product int, quantity int NOT NULL, price bigint NOT NULL,
    PRIMARY KEY (order_id, product));
CREATE TABLE reviews (id int PRIMARY KEY, product int NOT NULL, customer int NOT NULL,
    stars int NOT NULL, text text NOT NULL, UNIQUE (product, customer));
CREATE INDEX ON products (category, price);
CREATE INDEX ON reviews (product, id DESC);
)";

constexpr std::array<std::pair<const char*, const char*>, 16> kStatements = {{
    {"browse", "SELECT * FROM products WHERE category = $1 ORDER BY price LIMIT $2"},
    {"lookUp", "SELECT price, name, category, stock, description FROM products WHERE id = $1"},
    {"readReviews", "SELECT * FROM reviews WHERE product = $1 ORDER BY id DESC LIMIT $2"},
    {"createCart", "INSERT INTO carts VALUES ($1, $2)"},
    {"addLine", "INSERT INTO cart_lines VALUES ($1, $2, $3, $4)"},
    {"review", "INSERT INTO reviews VALUES ($1, $2, $3, $4, $5)"},
    {"begin", "BEGIN"},
    // Locks products in the order of their ids, so that two checkouts cannot deadlock.
    {"lockStock",
     "SELECT l.quantity, l.price, p.stock FROM cart_lines l JOIN products p ON p.id = l.product "
     "WHERE l.cart = $1 ORDER BY p.id FOR UPDATE OF p"},
    {"takeStock",
     "UPDATE products p SET stock = p.stock - l.quantity FROM cart_lines l "
     "WHERE l.cart = $1 AND p.id = l.product"},
    {"insertOrder", "INSERT INTO orders VALUES ($1, $2, $3)"},
    {"insertLines",
     "WITH gone AS (DELETE FROM cart_lines WHERE cart = $1 RETURNING *) "
     "INSERT INTO order_lines SELECT cart, product, quantity, price FROM gone"},
    {"pay", "UPDATE customers SET paid = paid + $2 WHERE id = $1"},
    {"removeCart", "DELETE FROM carts WHERE id = $1"},
    {"commit", "COMMIT"},
    {"rollback", "ROLLBACK"},
    {"settle", "SELECT pg_stat_force_next_flush()"},
}};

std::string text(int64_t number) {
    return std::to_string(number);
}

class PostgresSession final : public ShopSession {
public:
    explicit PostgresSession(std::unique_ptr<Postgres> postgres) : postgres_(std::move(postgres)) {}

    Status prepare() {
        for (const auto& [name, sql] : kStatements) {
            FRESHET_RETURN_IF_ERROR(postgres_->prepare(name, sql));
        }
        return Status::ok();
    }
    StatusOr<uint64_t> browse(uint32_t category) override {
        return shown("browse", {text(category), text(kPageProducts)});
    }
    StatusOr<int64_t> lookUp(uint32_t product) override {
        FRESHET_ASSIGN_OR_RETURN(const Rows rows, postgres_->execute("lookUp", {text(product)}));
        return rows.count() == 1 ? StatusOr<int64_t>(rows.number(0, 0))
                                 : Status(Code::kNotFound, "A product is not there");
    }
    StatusOr<uint64_t> readReviews(uint32_t product) override {
        return shown("readReviews", {text(product), text(kPageReviews)});
    }
    Status createCart(uint32_t cart, uint32_t customer) override {
        return changeOne("createCart", {text(cart), text(customer)});
    }
    Status addLine(uint32_t cart, const CartLine& line) override {
        return changeOne("addLine",
                         {text(cart), text(line.product), text(line.quantity), text(line.price)});
    }
    StatusOr<bool> checkOut(uint32_t cart, uint32_t customer) override {
        const std::string id = text(cart);
        FRESHET_ASSIGN_OR_RETURN(const std::vector<Rows> locked,
                                 postgres_->pipeline({{"begin", {}}, {"lockStock", {id}}}));
        const Rows& lines = locked[1];
        int64_t total = 0;
        for (int row = 0; row < lines.count(); ++row) {
            if (lines.number(row, 2) < lines.number(row, 0)) {
                FRESHET_RETURN_IF_ERROR(postgres_->execute("rollback", {}).status());
                return false;
            }
            total += lines.number(row, 0) * lines.number(row, 1);
        }
        FRESHET_RETURN_IF_ERROR(postgres_
                                    ->pipeline({{"takeStock", {id}},
                                                {"insertOrder", {id, text(customer), text(total)}},
                                                {"insertLines", {id}},
                                                {"pay", {text(customer), text(total)}},
                                                {"removeCart", {id}},
                                                {"commit", {}}})
                                    .status());
        return true;
    }
    Status review(uint32_t customer, const Step& review) override {
        return changeOne("review",
                         {text(review.review),
                          text(review.subject),
                          text(customer),
                          text(review.number),
                          std::string(kReviewText)});
    }
    Status settle() override { return postgres_->execute("settle", {}).status(); }

private:
    StatusOr<uint64_t> shown(const char* name, const Values& values) {
        FRESHET_ASSIGN_OR_RETURN(const Rows rows, postgres_->execute(name, values));
        return static_cast<uint64_t>(rows.count());
    }
    Status changeOne(const char* name, const Values& values) {
        FRESHET_ASSIGN_OR_RETURN(const Rows rows, postgres_->execute(name, values));
        return rows.changed() == 1 ? Status::ok()
                                   : Status(Code::kCorruption, std::string(name) + " did nothing");
    }

    const std::unique_ptr<Postgres> postgres_;
};

class PostgresShop final : public Shop {
public:
    PostgresShop(std::string where, std::unique_ptr<Postgres> postgres)
        : where_(std::move(where)), postgres_(std::move(postgres)) {}

    std::string_view name() const override { return "postgres"; }
    Status stock(const Plan& plan) override;
    StatusOr<std::unique_ptr<ShopSession>> enter() override {
        FRESHET_ASSIGN_OR_RETURN(std::unique_ptr<Postgres> connection, Postgres::open(where_));
        auto session = std::make_unique<PostgresSession>(std::move(connection));
        FRESHET_RETURN_IF_ERROR(session->prepare());
        return std::unique_ptr<ShopSession>(std::move(session));
    }
    StatusOr<Books> books() override;
    StatusOr<ShopCost> cost() override;

private:
    StatusOr<int64_t> number(const std::string& sql) {
        FRESHET_ASSIGN_OR_RETURN(const Rows rows, postgres_->query(sql));
        return rows.count() == 1 ? StatusOr<int64_t>(rows.number(0, 0))
                                 : Status(Code::kIo, "No answer to " + sql);
    }

    const std::string where_;
    const std::unique_ptr<Postgres> postgres_;
};

Status PostgresShop::stock(const Plan& plan) {
    FRESHET_RETURN_IF_ERROR(postgres_->run(kTables));
    FRESHET_RETURN_IF_ERROR(postgres_->run("BEGIN"));
    FRESHET_RETURN_IF_ERROR(
        postgres_->prepare("product", "INSERT INTO products VALUES ($1, $2, $3, $4, $5, $6)"));
    FRESHET_RETURN_IF_ERROR(
        postgres_->prepare("customer", "INSERT INTO customers VALUES ($1, $2, 0)"));
    for (uint32_t i = 0; i < plan.products.size(); ++i) {
        const Product& product = plan.products[i];
        FRESHET_RETURN_IF_ERROR(postgres_
                                    ->execute("product",
                                              {text(i),
                                               productName(i),
                                               text(product.category),
                                               text(product.price),
                                               text(product.stock),
                                               std::string(kDescriptionBytes, 'd')})
                                    .status());
    }
    for (uint32_t i = 0; i < plan.customers; ++i) {
        FRESHET_RETURN_IF_ERROR(
            postgres_->execute("customer", {text(i), customerEmail(i)}).status());
    }
    FRESHET_RETURN_IF_ERROR(postgres_->run("COMMIT; DEALLOCATE product; DEALLOCATE customer"));
    FRESHET_RETURN_IF_ERROR(postgres_->run("VACUUM ANALYZE"));
    return postgres_->run("CHECKPOINT");
}

StatusOr<Books> PostgresShop::books() {
    Books out;
    FRESHET_ASSIGN_OR_RETURN(const Rows stock,
                             postgres_->query("SELECT stock FROM products ORDER BY id"));
    for (int row = 0; row < stock.count(); ++row) {
        out.stock.push_back(stock.number(row, 0));
    }
    FRESHET_ASSIGN_OR_RETURN(const Rows paid,
                             postgres_->query("SELECT paid FROM customers ORDER BY id"));
    for (int row = 0; row < paid.count(); ++row) {
        out.paid.push_back(paid.number(row, 0));
    }
    FRESHET_ASSIGN_OR_RETURN(const Rows orders,
                             postgres_->query("SELECT id, customer, total FROM orders"));
    for (int row = 0; row < orders.count(); ++row) {
        out.orders[static_cast<uint32_t>(orders.number(row, 0))] = {
            static_cast<uint32_t>(orders.number(row, 1)), orders.number(row, 2), {}};
    }
    FRESHET_ASSIGN_OR_RETURN(
        const Rows lines,
        postgres_->query("SELECT order_id, product, quantity, price FROM order_lines"));
    for (int row = 0; row < lines.count(); ++row) {
        out.orders[static_cast<uint32_t>(lines.number(row, 0))].lines.push_back(
            {static_cast<uint32_t>(lines.number(row, 1)),
             static_cast<uint32_t>(lines.number(row, 2)),
             lines.number(row, 3)});
    }
    FRESHET_ASSIGN_OR_RETURN(const int64_t carts, number("SELECT count(*) FROM carts"));
    FRESHET_ASSIGN_OR_RETURN(const int64_t reviews, number("SELECT count(*) FROM reviews"));
    FRESHET_ASSIGN_OR_RETURN(const int64_t loose,
                             number("SELECT count(*) FROM cart_lines WHERE cart NOT IN "
                                    "(SELECT id FROM carts)"));
    out.carts = static_cast<uint64_t>(carts);
    out.reviews = static_cast<uint64_t>(reviews);
    out.loose = static_cast<uint64_t>(loose);
    return out;
}

StatusOr<ShopCost> PostgresShop::cost() {
    ShopCost out;
    FRESHET_ASSIGN_OR_RETURN(const int64_t flushes, number("SELECT wal_sync FROM pg_stat_wal"));
    out.flushes = static_cast<uint64_t>(flushes);
    // The first line of this file is the id of the postmaster, the parent of all other processes.
    StatusOr<int64_t> pid =
        number("SELECT split_part(pg_read_file('postmaster.pid'), E'\\n', 1)::bigint");
    if (pid.isOk() && programOf(*pid) == "postgres") {
        FRESHET_ASSIGN_OR_RETURN(out.cpuMicros, cpuMicrosOfFamily(*pid));
    }
    return out;
}

}  // namespace

StatusOr<std::unique_ptr<Shop>> openPostgresShop(const std::string& connection) {
    FRESHET_ASSIGN_OR_RETURN(std::unique_ptr<Postgres> postgres, Postgres::open(connection));
    return std::unique_ptr<Shop>(new PostgresShop(connection, std::move(postgres)));
}

#else

StatusOr<std::unique_ptr<Shop>> openPostgresShop(const std::string&) {
    return Status(Code::kUnsupported, "this build is without libpq (Debian: libpq-dev)");
}

#endif

}  // namespace freshet::bench
