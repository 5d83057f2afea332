/** Removes a property: `update(id, { due: unset })`. The same in every copy of the package. */
export const unset: unique symbol = Symbol.for('looseleaf.unset')
