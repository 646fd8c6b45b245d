// SPDX-License-Identifier: Apache-2.0
// computed(expression, document): what an aggregation expression gives for a document; undefined when it
// gives no value.
globalThis.computed = (expression, document = {}) =>
    db.aggregate([{$documents: {$literal: [document]}}, {$project: {_id: 0, value: expression}}]).toArray()[0].value;
