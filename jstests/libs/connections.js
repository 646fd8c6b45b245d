// SPDX-License-Identifier: Apache-2.0
// connection(options): another connection to the server of this test, with options of a connection string.
globalThis.connection = (options = '') => new Mongo(`mongodb://${encodeURIComponent(db.getMongo().host).replace('%3A', ':')}/${db.getName()}?${options}`);
globalThis.bytesOf = (count) => 'x'.repeat(count);
