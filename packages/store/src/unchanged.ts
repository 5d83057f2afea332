/** Returned by the edit of `update` to leave the entity unchanged. Every copy of the package has the same symbol. */
export const unchanged: unique symbol = Symbol.for('looseleaf.unchanged')
