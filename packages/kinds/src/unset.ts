/** Removes a property in a patch: `update(id, { due: unset })`. A registered symbol, so that all copies of the package share it. */
export const unset: unique symbol = Symbol.for('looseleaf.unset')
