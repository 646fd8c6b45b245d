// SPDX-License-Identifier: Apache-2.0

// What an application does in its first hour, through the Go driver. Arguments: the connection string; "set" for
// what needs a replica set as well.
// Prints one line of JSON that driver_languages_test.py compares.
package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sort"
	"strconv"

	"bytes"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

func must[T any](value T, err error) T {
	check(err)
	return value
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func main() {
	ctx := context.Background()
	client := must(mongo.Connect(options.Client().ApplyURI(os.Args[1])))
	defer client.Disconnect(ctx)
	db := client.Database("scenario_go")
	check(db.Drop(ctx))
	c := db.Collection("c")
	result := map[string]any{}

	documents := make([]any, 1000)
	for i := range documents {
		documents[i] = bson.D{{Key: "_id", Value: i}, {Key: "n", Value: i % 10}, {Key: "text", Value: "t" + strconv.Itoa(i)}}
	}
	result["inserted"] = len(must(c.InsertMany(ctx, documents)).InsertedIDs)

	bulk := must(c.BulkWrite(ctx, []mongo.WriteModel{
		mongo.NewInsertOneModel().SetDocument(bson.M{"_id": 1000, "n": 10, "text": "t1000"}),
		mongo.NewUpdateOneModel().SetFilter(bson.M{"_id": 1}).SetUpdate(bson.M{"$inc": bson.M{"n": 100}}),
		mongo.NewUpdateManyModel().SetFilter(bson.M{"n": 3}).SetUpdate(bson.M{"$set": bson.M{"three": true}}),
		mongo.NewReplaceOneModel().SetFilter(bson.M{"_id": 2}).SetReplacement(bson.M{"n": 2, "text": "replaced"}),
		mongo.NewUpdateOneModel().SetFilter(bson.M{"_id": "new"}).SetUpdate(bson.M{"$set": bson.M{"n": 11, "text": "upserted"}}).SetUpsert(true),
		mongo.NewDeleteOneModel().SetFilter(bson.M{"_id": 999}),
	}))
	result["bulk"] = []int64{bulk.InsertedCount, bulk.MatchedCount, bulk.ModifiedCount, bulk.UpsertedCount, bulk.DeletedCount}

	cursor := must(c.Find(ctx, bson.M{"n": 3}, options.Find().SetSort(bson.M{"_id": 1}).SetBatchSize(7)))
	count, sum := 0, 0
	for cursor.Next(ctx) {
		var document struct {
			ID int `bson:"_id"`
		}
		check(cursor.Decode(&document))
		count, sum = count+1, sum+document.ID
	}
	check(cursor.Err())
	result["cursor"] = []int{count, sum}

	must(c.Indexes().CreateOne(ctx, mongo.IndexModel{Keys: bson.D{{Key: "text", Value: 1}}, Options: options.Index().SetUnique(true)}))
	if _, err := c.InsertOne(ctx, bson.M{"text": "t5"}); mongo.IsDuplicateKeyError(err) {
		result["duplicate"] = err.(mongo.WriteException).WriteErrors[0].Code
	}
	names := []string{}
	for _, index := range must(c.Indexes().ListSpecifications(ctx)) {
		names = append(names, index.Name)
	}
	sort.Strings(names)
	result["indexes"] = names

	groups := must(c.Aggregate(ctx, bson.A{
		bson.M{"$group": bson.M{"_id": "$n", "total": bson.M{"$sum": 1}}},
		bson.M{"$match": bson.M{"total": bson.M{"$gte": 99}}}}))
	found := []bson.M{}
	check(groups.All(ctx, &found))
	result["groups"] = len(found)

	var after struct {
		List []string `bson:"list"`
	}
	check(c.FindOneAndUpdate(ctx, bson.M{"_id": 7}, bson.M{"$push": bson.M{"list": "x"}},
		options.FindOneAndUpdate().SetReturnDocument(options.After)).Decode(&after))
	result["after"] = after.List
	values := []int{}
	check(c.Distinct(ctx, "n", bson.M{"n": bson.M{"$lt": 10}}).Decode(&values))
	result["distinct"] = len(values)

	content := make([]byte, 700_000)
	for i := range content {
		content[i] = byte(i * 31 % 251)
	}
	bucket := db.GridFSBucket()
	must(bucket.UploadFromStream(ctx, "file", bytes.NewReader(content)))
	var read bytes.Buffer
	must(bucket.DownloadToStreamByName(ctx, "file", &read))
	hash := sha256.Sum256(read.Bytes())
	result["gridfs"] = hex.EncodeToString(hash[:])
	if len(os.Args) > 2 && os.Args[2] == "set" {
		follow(ctx, client, db, result)
	}
	fmt.Println(string(must(json.Marshal(result))))
}

// Transactions, and a change stream that sees them.
func follow(ctx context.Context, client *mongo.Client, db *mongo.Database, result map[string]any) {
	check(db.CreateCollection(ctx, "t"))
	t := db.Collection("t")
	stream := must(t.Watch(ctx, mongo.Pipeline{}))
	session := must(client.StartSession())
	defer session.EndSession(ctx)
	must(session.WithTransaction(ctx, func(ctx context.Context) (any, error) {
		must(t.InsertOne(ctx, bson.M{"_id": 1, "n": 1}))
		return t.UpdateOne(ctx, bson.M{"_id": 1}, bson.M{"$inc": bson.M{"n": 1}})
	}))
	_, err := session.WithTransaction(ctx, func(ctx context.Context) (any, error) {
		must(t.InsertOne(ctx, bson.M{"_id": 2}))
		return nil, errors.New("changed my mind")
	})
	result["aborted"] = err.Error()
	kept := []bson.M{}
	check(must(t.Find(ctx, bson.M{})).All(ctx, &kept))
	result["kept"] = kept
	kinds := []string{}
	var first bson.Raw
	for len(kinds) < 2 && stream.Next(ctx) {
		if first == nil {
			first = append(first, stream.ResumeToken()...)
		}
		kinds = append(kinds, stream.Current.Lookup("operationType").StringValue())
	}
	check(stream.Close(ctx))
	result["events"] = kinds
	again := must(t.Watch(ctx, mongo.Pipeline{}, options.ChangeStream().SetResumeAfter(first)))
	again.Next(ctx)
	var event struct {
		UpdateDescription struct {
			UpdatedFields bson.M `bson:"updatedFields"`
		} `bson:"updateDescription"`
	}
	check(again.Decode(&event))
	check(again.Close(ctx))
	result["resumed"] = event.UpdateDescription.UpdatedFields
}
