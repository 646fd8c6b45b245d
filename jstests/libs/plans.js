// SPDX-License-Identifier: Apache-2.0
// stagesOf(explain): the names of all stages of a plan, in the order in which they are found.
globalThis.stagesOf = (explain) => {
    const found = [];
    const visit = (node) => {
        if (node === null || typeof node !== 'object') {
            return;
        }
        if (typeof node.stage === 'string') {
            found.push(node.stage);
        }
        Object.values(node).forEach(visit);
    };
    visit(explain);
    return found;
};
