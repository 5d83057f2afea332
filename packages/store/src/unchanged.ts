/** What the function of `update` returns to leave the entity as it is. The same in every copy of the package. */
export const unchanged: unique symbol = Symbol.for('looseleaf.unchanged')
