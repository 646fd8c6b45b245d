// SPDX-License-Identifier: Apache-2.0
// The errors that scripts catch, with the names that drivers use.
'use strict';

const kind = (name, parent = Error) => {
    const made = class extends parent {
        constructor(message, fields) {
            super(message);
            library.put(this, {name});
            Object.assign(this, fields);
        }
    };
    library.put(made, {name});
    library[name] = made;
    library.put(globalThis, {[name]: made});
    return made;
};
const MongoError = kind('MongoError');
kind('MongoServerError', MongoError);
kind('MongoBulkWriteError', library.MongoServerError);
kind('MongoNetworkError', MongoError);
kind('MongoInvalidArgumentError', MongoError);
kind('MongoCursorExhaustedError', MongoError);
kind('MongoTransactionError', MongoError);
kind('MongoshInvalidInputError');
kind('MongoshRuntimeError');
kind('MongoshUnimplementedError');

library.invalid = (text) => new library.MongoshInvalidInputError(text);
// The exception for a reply with ok: 0, a write error or a write concern error.
library.serverError = (reply) => {
    const {errmsg, message, ok, ...fields} = reply;
    const error = new library.MongoServerError(errmsg || message || EJSON.stringify(reply), fields);
    library.put(error, {errorResponse: reply});
    return error;
};
library.checkReply = (reply) => {
    if (!reply.ok) {
        throw library.serverError(reply);
    }
    return reply;
};
