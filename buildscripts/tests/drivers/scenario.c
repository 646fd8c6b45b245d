/* SPDX-License-Identifier: Apache-2.0 */
/* Transactions, and a change stream that sees them, through libmongoc. Argument: the connection string of a replica set.
   Prints one line of JSON that driver_languages_test.py compares. */
#include <mongoc/mongoc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check(bool ok, const bson_error_t *error) {
    if (!ok) {
        fprintf(stderr, "%s\n", error->message);
        exit(1);
    }
}

static bool insert_and_count(mongoc_client_session_t *session, void *collection, bson_t **reply, bson_error_t *error) {
    bson_t options = BSON_INITIALIZER;
    bson_t *one = BCON_NEW("_id", BCON_INT32(1), "n", BCON_INT32(1));
    bson_t *filter = BCON_NEW("_id", BCON_INT32(1));
    bson_t *update = BCON_NEW("$inc", "{", "n", BCON_INT32(1), "}");
    bool ok = mongoc_client_session_append(session, &options, error) &&
              mongoc_collection_insert_one(collection, one, &options, NULL, error) &&
              mongoc_collection_update_one(collection, filter, update, &options, NULL, error);
    bson_destroy(one);
    bson_destroy(filter);
    bson_destroy(update);
    bson_destroy(&options);
    (void)reply;
    return ok;
}

static const bson_t *next_event(mongoc_change_stream_t *stream) {
    const bson_t *event = NULL;
    const bson_t *failed = NULL;
    bson_error_t error;
    while (!mongoc_change_stream_next(stream, &event)) {
        check(!mongoc_change_stream_error_document(stream, &error, &failed), &error);
    }
    return event;
}

static const char *kind_of(const bson_t *event) {
    bson_iter_t at;
    return bson_iter_init_find(&at, event, "operationType") ? bson_iter_utf8(&at, NULL) : "";
}

static void abort_one(mongoc_client_session_t *session, mongoc_collection_t *collection) {
    bson_error_t error;
    bson_t options = BSON_INITIALIZER;
    bson_t *two = BCON_NEW("_id", BCON_INT32(2));
    check(mongoc_client_session_start_transaction(session, NULL, &error), &error);
    check(mongoc_client_session_append(session, &options, &error), &error);
    check(mongoc_collection_insert_one(collection, two, &options, NULL, &error), &error);
    check(mongoc_client_session_abort_transaction(session, &error), &error);
    bson_destroy(two);
    bson_destroy(&options);
}

int main(int argc, char **argv) {
    bson_error_t error;
    bson_t none = BSON_INITIALIZER;
    bson_t token;
    (void)argc;
    mongoc_init();
    mongoc_client_t *client = mongoc_client_new(argv[1]);
    mongoc_collection_t *t = mongoc_client_get_collection(client, "scenario_c", "t");
    bson_t *zero = BCON_NEW("_id", BCON_INT32(0));
    check(mongoc_collection_insert_one(t, zero, NULL, NULL, &error), &error);
    mongoc_change_stream_t *stream = mongoc_collection_watch(t, &none, NULL);
    const bson_t *event = NULL;
    mongoc_change_stream_next(stream, &event); /* opens it */

    mongoc_client_session_t *session = mongoc_client_start_session(client, NULL, &error);
    check(session != NULL, &error);
    check(mongoc_client_session_with_transaction(session, insert_and_count, NULL, t, NULL, &error), &error);
    abort_one(session, t);
    mongoc_client_session_destroy(session);
    int64_t kept = mongoc_collection_count_documents(t, &none, NULL, NULL, NULL, &error);
    check(kept >= 0, &error);

    event = next_event(stream);
    char first[16];
    snprintf(first, sizeof(first), "%s", kind_of(event));
    bson_copy_to(mongoc_change_stream_get_resume_token(stream), &token);
    char second[16];
    snprintf(second, sizeof(second), "%s", kind_of(next_event(stream)));
    mongoc_change_stream_destroy(stream);

    bson_t *resume = BCON_NEW("resumeAfter", BCON_DOCUMENT(&token));
    mongoc_change_stream_t *again = mongoc_collection_watch(t, &none, resume);
    const char *resumed = kind_of(next_event(again));
    printf("{\"kept\": %lld, \"events\": [\"%s\", \"%s\"], \"resumed\": \"%s\"}\n", (long long)kept, first, second, resumed);

    mongoc_change_stream_destroy(again);
    bson_destroy(resume);
    bson_destroy(&token);
    bson_destroy(zero);
    mongoc_collection_destroy(t);
    mongoc_client_destroy(client);
    mongoc_cleanup();
    return 0;
}
