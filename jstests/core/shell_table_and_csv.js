// SPDX-License-Identifier: Apache-2.0
// cursor.table() and cursor.csv() show rows.
db.c.insertMany([{_id: 1, name: 'a'}, {_id: 2, name: 'b "c", d'}]);
db.c.find().table();
db.c.find().csv();
