// SPDX-License-Identifier: Apache-2.0
// Settings are told, changed and put back; wrong values are refused, unknown names told.
assert.eq(config.get('displayBatchSize'), 20);
config.set('displayBatchSize', 3);
assert.eq(DBQuery.shellBatchSize, 3);
DBQuery.shellBatchSize = 20;
assert.includes(config.set('frob', 1), 'not available');
assert.includes(config.reset('frob'), 'not available');
for (const [name, value] of [['displayBatchSize', 0], ['displayBatchSize', 'x'], ['inspectDepth', -1], ['editor', 1],
                             ['enableTelemetry', 1], ['redactHistory', 'x'], ['maxTimeMS', 0]]) {
    assert.includes(assert.throws(() => config.set(name, value)).message, name + ' must be');
}
for (const [name, value] of [['inspectDepth', Infinity], ['inspectCompact', true], ['editor', 'vi'], ['showStackTraces', true]]) {
    config.set(name, value);
    assert.eq(config.get(name), value);
    config.reset(name);
}
assert.eq(config.get('inspectDepth'), 6);
