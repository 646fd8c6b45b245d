// SPDX-License-Identifier: Apache-2.0
import com.mongodb.MongoWriteException;
import com.mongodb.client.ClientSession;
import com.mongodb.client.MongoClient;
import com.mongodb.client.MongoClients;
import com.mongodb.client.MongoCollection;
import com.mongodb.client.MongoDatabase;
import com.mongodb.client.gridfs.GridFSBucket;
import com.mongodb.client.gridfs.GridFSBuckets;
import com.mongodb.client.model.*;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.security.MessageDigest;
import java.util.*;
import org.bson.BsonDocument;
import org.bson.Document;

/**
 * What an application does in its first hour, through the Java driver. Arguments: the connection string; "set" for what
 * needs a replica set as well. Prints one line of JSON that driver_languages_test.py compares.
 */
public class Scenario {
    public static void main(String[] arguments) throws Exception {
        try (MongoClient client = MongoClients.create(arguments[0])) {
            MongoDatabase db = client.getDatabase("scenario_java");
            Document result = run(db);
            if (arguments.length > 1 && arguments[1].equals("set")) {
                follow(client, db, result);
            }
            System.out.println(result.toJson());
        }
    }

    /** Transactions, and a change stream that sees them. */
    static void follow(MongoClient client, MongoDatabase db, Document result) {
        db.createCollection("t");
        MongoCollection<Document> t = db.getCollection("t");
        BsonDocument token;
        try (var stream = t.watch().cursor(); ClientSession session = client.startSession()) {
            session.withTransaction(() -> {
                t.insertOne(session, new Document("_id", 1).append("n", 1));
                return t.updateOne(session, Filters.eq("_id", 1), Updates.inc("n", 1));
            });
            try {
                session.withTransaction(() -> {
                    t.insertOne(session, new Document("_id", 2));
                    throw new IllegalStateException("changed my mind");
                });
            } catch (IllegalStateException error) {
                result.append("aborted", error.getMessage());
            }
            result.append("kept", t.find().into(new ArrayList<>()));
            var first = stream.next();
            token = first.getResumeToken();
            result.append("events", List.of(first.getOperationType().getValue(), stream.next().getOperationType().getValue()));
        }
        try (var again = t.watch().resumeAfter(token).cursor()) {
            result.append("resumed", again.next().getUpdateDescription().getUpdatedFields());
        }
    }

    static Document run(MongoDatabase db) throws Exception {
        db.drop();
        MongoCollection<Document> c = db.getCollection("c");
        Document result = new Document();
        List<Document> documents = new ArrayList<>();
        for (int i = 0; i < 1000; i++) {
            documents.add(new Document("_id", i).append("n", i % 10).append("text", "t" + i));
        }
        result.append("inserted", c.insertMany(documents).getInsertedIds().size());

        var bulk = c.bulkWrite(List.of(
            new InsertOneModel<>(new Document("_id", 1000).append("n", 10).append("text", "t1000")),
            new UpdateOneModel<>(Filters.eq("_id", 1), Updates.inc("n", 100)),
            new UpdateManyModel<>(Filters.eq("n", 3), Updates.set("three", true)),
            new ReplaceOneModel<>(Filters.eq("_id", 2), new Document("n", 2).append("text", "replaced")),
            new UpdateOneModel<>(Filters.eq("_id", "new"), Updates.combine(Updates.set("n", 11), Updates.set("text", "upserted")),
                                 new UpdateOptions().upsert(true)),
            new DeleteOneModel<>(Filters.eq("_id", 999))));
        result.append("bulk", List.of(bulk.getInsertedCount(), bulk.getMatchedCount(), bulk.getModifiedCount(),
                                      bulk.getUpserts().size(), bulk.getDeletedCount()));

        int count = 0;
        int sum = 0;
        for (Document document : c.find(Filters.eq("n", 3)).sort(Sorts.ascending("_id")).batchSize(7)) {
            count += 1;
            sum += document.getInteger("_id");
        }
        result.append("cursor", List.of(count, sum));

        c.createIndex(Indexes.ascending("text"), new IndexOptions().unique(true));
        try {
            c.insertOne(new Document("text", "t5"));
        } catch (MongoWriteException error) {
            result.append("duplicate", error.getError().getCode());
        }
        List<String> names = new ArrayList<>();
        c.listIndexes().forEach(index -> names.add(index.getString("name")));
        Collections.sort(names);
        result.append("indexes", names);
        result.append("groups", c.aggregate(List.of(Aggregates.group("$n", Accumulators.sum("total", 1)),
                                                    Aggregates.match(Filters.gte("total", 99)))).into(new ArrayList<>()).size());
        result.append("after", c.findOneAndUpdate(Filters.eq("_id", 7), Updates.push("list", "x"),
                                                  new FindOneAndUpdateOptions().returnDocument(ReturnDocument.AFTER)).get("list"));
        result.append("distinct", c.distinct("n", Filters.lt("n", 10), Integer.class).into(new ArrayList<>()).size());

        byte[] content = new byte[700_000];
        for (int i = 0; i < content.length; i++) {
            content[i] = (byte) (i * 31 % 251);
        }
        GridFSBucket bucket = GridFSBuckets.create(db);
        bucket.uploadFromStream("file", new ByteArrayInputStream(content));
        ByteArrayOutputStream read = new ByteArrayOutputStream();
        bucket.downloadToStream("file", read);
        byte[] hash = MessageDigest.getInstance("SHA-256").digest(read.toByteArray());
        return result.append("gridfs", HexFormat.of().formatHex(hash));
    }
}
